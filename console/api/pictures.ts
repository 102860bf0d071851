/** Largest picture that is taken, in pixels. Source: docs/api/files.md, purposes. */
export const PIXELS_MAX = 50_000_000

/** Whether a file begins as a PNG, JPEG, GIF or WebP does. */
export async function isPicture(file: Blob): Promise<boolean> {
  const head = String.fromCharCode(...new Uint8Array(await file.slice(0, 12).arrayBuffer()))
  return /^(\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8|RIFF.{4}WEBP)/s.test(head)
}

/** Width times height; 0 when the browser cannot tell. */
export function pixelsOf(file: Blob): Promise<number> {
  const url = URL.createObjectURL(file)
  const picture = new Image()
  return new Promise<number>((resolve) => {
    picture.onload = () => resolve(picture.naturalWidth * picture.naturalHeight)
    picture.onerror = () => resolve(0)
    picture.src = url
  }).finally(() => URL.revokeObjectURL(url))
}
