import sharp from 'sharp'
import { serveTask } from './child-task.ts'
import { IMAGE_PIXELS_MAX } from './probe.ts'

/** `edge` is the most pixels of the longer side. */
export type ShrinkTask = { path: string; edge: number }

if (process.send) {
  serveTask<ShrinkTask>(async ({ path, edge }) => {
    const jpeg = await sharp(path, { limitInputPixels: IMAGE_PIXELS_MAX })
      .autoOrient()
      .resize({ width: edge, height: edge, fit: 'inside', withoutEnlargement: true })
      .flatten({ background: '#ffffff' })
      .jpeg({ quality: 85 })
      .toBuffer()
    return new Uint8Array(jpeg)
  })
}
