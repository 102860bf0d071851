/** Most pixels that an image may have. Source: docs/api/files.md, purposes. */
export const PIXELS_MAX = 50_000_000

/** Whether a file starts with the signature of a PNG, JPEG, GIF or WebP. */
export async function isImage(file: Blob): Promise<boolean> {
  const head = String.fromCharCode(...new Uint8Array(await file.slice(0, 12).arrayBuffer()))
  return /^(\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8|RIFF.{4}WEBP)/s.test(head)
}

/** Width times height; 0 when the browser cannot decode it. */
export function pixelsOf(file: Blob): Promise<number> {
  const url = URL.createObjectURL(file)
  const image = new Image()
  return new Promise<number>((resolve) => {
    image.onload = () => resolve(image.naturalWidth * image.naturalHeight)
    image.onerror = () => resolve(0)
    image.src = url
  }).finally(() => URL.revokeObjectURL(url))
}
