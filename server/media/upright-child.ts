import sharp from 'sharp'
import { serveTask } from './children/serve.ts'
import { decodable, PICTURE } from './pictures.ts'

export type UprightTask = { path: string; to: string }

/** Above this the copy of a photo looks the same; it is about as large as the photo. */
const QUALITY = 92

if (process.send) {
  serveTask<UprightTask>(async ({ path, to }) => {
    const { format } = await sharp(path, PICTURE).metadata()
    const upright = sharp(await decodable(path), PICTURE).autoOrient()
    if (format === 'png') await upright.png().toFile(to)
    else if (format === 'webp') await upright.webp({ quality: QUALITY }).toFile(to)
    else await upright.jpeg({ quality: QUALITY }).toFile(to)
    return null
  })
}
