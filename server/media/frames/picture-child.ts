import { readFile } from 'node:fs/promises'
import sharp from 'sharp'
import { serveTask } from '../children/serve.ts'
import { decodable, PICTURE } from '../pictures.ts'
import { animatedPngSeconds, spreadFrames } from './animation.ts'

/** `edge` and `frame_edge` are the most pixels of the longer side of a picture and of a frame. */
export type PictureTask = { path: string; edge: number; frame_edge: number; frames_max: number }

/** `animation`: numbers of the frames of an animated PNG that are still to be had from FFmpeg; the picture is what is shown without it. */
export type PictureReply = { pictures: Uint8Array[]; animation: number[] | null }

if (process.send) {
  serveTask<PictureTask>(async ({ path, edge, frame_edge, frames_max }): Promise<PictureReply> => {
    const { format, pages = 1, delay } = await sharp(path, PICTURE).metadata()
    if (format === 'png') {
      const seconds = animatedPngSeconds(await readFile(path))
      return {
        pictures: [await jpegOf(path, 0, edge)],
        animation: seconds === null ? null : spreadFrames(seconds, frames_max),
      }
    }
    if (pages < 2) return { pictures: [await jpegOf(await decodable(path), 0, edge)], animation: null }
    const seconds = Array.from({ length: pages }, (_, page) => (delay?.[page] ?? 100) / 1000)
    const pictures: Uint8Array[] = []
    for (const page of spreadFrames(seconds, frames_max)) pictures.push(await jpegOf(path, page, frame_edge))
    return { pictures, animation: null }
  })
}

async function jpegOf(source: string | Buffer, page: number, edge: number): Promise<Uint8Array> {
  const jpeg = await sharp(source, { ...PICTURE, page })
    .autoOrient()
    .resize({ width: edge, height: edge, fit: 'inside', withoutEnlargement: true })
    .flatten({ background: '#ffffff' })
    .jpeg({ quality: 85 })
    .toBuffer()
  return new Uint8Array(jpeg)
}
