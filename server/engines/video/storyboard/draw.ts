import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import sharp, { type Sharp } from 'sharp'
import type { Size } from '../../../media/aspect.ts'
import { decodable, PICTURE } from '../../../media/pictures.ts'
import { seededRandom } from '../../seeded-random.ts'
import { type Caption, unitsOf } from './captions.ts'
import { even, evenDown, type LandLayer } from './scenes.ts'
import type { Still } from './timeline.ts'

/** A customer's file that cannot be decoded. */
class UnreadableReference extends Error {
  override name = 'UnreadableReference'
}

// One render uses one core.
sharp.concurrency(1)
sharp.cache(false)

/** Pixels around a text for its shadow. */
const PAD = 36

const resolve = createRequire(import.meta.url).resolve
const FONT = '@expo-google-fonts/biz-udpgothic'
const BOLD = resolve(`${FONT}/700Bold/BIZUDPGothic_700Bold.ttf`)

/** The sky of a scene, with a grain of ±2 levels against banding. */
export async function drawSky(svg: string, size: Size, path: string): Promise<Still> {
  const sky = await sharp(Buffer.from(svg)).removeAlpha().raw().toBuffer()
  const random = seededRandom('grain')
  const grain = Int8Array.from({ length: 4099 }, () =>
    Math.round(random.between(-1.2, 1.2) + random.between(-1.2, 1.2)),
  )
  for (let pixel = 0; pixel * 3 < sky.length; pixel++) {
    const lift = grain[(pixel * 7) % grain.length]!
    for (let i = pixel * 3; i < pixel * 3 + 3; i++) sky[i] = Math.min(255, Math.max(0, sky[i]! + lift))
  }
  await writeFile(path, sky)
  return { ...size, path, format: 'rgb24', phases: 1 }
}

/** A layer in as many phases as its speed needs; both directions share the file format, not the phases. */
export async function drawLayer(layer: LandLayer, path: string, to_left: boolean): Promise<Still> {
  const phases = 2 / layer.speed
  const drawn: Buffer[] = []
  for (let phase = 0; phase < phases; phase++) {
    const shift = layer.speed * phase * (to_left ? 1 : -1)
    drawn.push(
      await sharp(Buffer.from(layer.svg(shift)))
        .ensureAlpha()
        .raw()
        .toBuffer(),
    )
  }
  await writeFile(path, Buffer.concat(drawn))
  return { width: layer.width, height: layer.height, path, format: 'rgba', phases }
}

/** A customer's picture, upright and without transparency, cropped to fill `size` or, with `uncropped`, placed on a blurred enlargement of itself. */
export async function preparePicture(
  source: string,
  { size, uncropped, path }: { size: Size; uncropped: boolean; path: string },
): Promise<Still> {
  try {
    const upright = sharp(await decodable(source), PICTURE)
      .autoOrient()
      .flatten({ background: '#ffffff' })
      .toColourspace('srgb')
    const filled = upright
      .clone()
      .resize({ ...size, fit: 'cover' })
      .removeAlpha()
    await writeFile(path, await (uncropped ? await framed(upright, size) : filled).raw().toBuffer())
  } catch (error) {
    throw new UnreadableReference(
      `A picture cannot be decoded: ${error instanceof Error ? error.message.slice(0, 80) : error}`,
    )
  }
  return { ...size, path, format: 'rgb24', phases: 1 }
}

async function framed(upright: Sharp, size: Size): Promise<Sharp> {
  const small = await upright
    .clone()
    .resize({ width: size.width >> 3, height: size.height >> 3, fit: 'cover' })
    .blur(6)
    .modulate({ brightness: 0.55, saturation: 0.9 })
    .png()
    .toBuffer()
  const backdrop = sharp(small).resize({ ...size, kernel: 'cubic' })
  const front = await upright
    .clone()
    .resize({ width: Math.round(size.width * 0.9), height: Math.round(size.height * 0.9), fit: 'inside' })
    .png()
    .toBuffer()
  return sharp(
    await backdrop
      .composite([{ input: front }])
      .png()
      .toBuffer(),
  ).removeAlpha()
}

export type Words = Still & { x: number; y: number }

/**
 * Draws a caption or subtitle and returns its place. Captions are at the left, in the upper half of a scene (`place: 'sky'`) or low over
 * pictures (`'picture'`); subtitles are centered at the bottom.
 */
export async function drawWords(
  caption: Caption,
  options: { size: Size; place: 'sky' | 'picture'; accent: string; path: string },
): Promise<Words> {
  const { size, place, accent, path } = options
  const subtitle = caption.kind === 'subtitle'
  const letters = await setText(caption.text, { size, subtitle })
  const bar = subtitle ? 0 : Math.round(letters.points * 0.62)
  const width = even(letters.width + 2 * PAD)
  const height = even(letters.height + bar + 2 * PAD)
  const alpha = await sharp(letters.png)
    .ensureAlpha()
    .extractChannel(3)
    .extend({
      top: PAD + bar,
      left: PAD,
      bottom: height - letters.height - bar - PAD,
      right: width - letters.width - PAD,
      background: { r: 0, g: 0, b: 0, alpha: 0 },
    })
    .raw()
    .toBuffer()
  const shadow = await shadowOf(alpha, { width, height })
  const marks =
    bar === 0
      ? []
      : [
          {
            input: Buffer.from(
              `<svg xmlns="http://www.w3.org/2000/svg" width="72" height="6"><rect width="72" height="6" rx="3" fill="${accent}"/></svg>`,
            ),
            left: PAD,
            top: PAD,
          },
        ]
  const raw = await sharp(shadow, { raw: { width, height, channels: 4 } })
    .composite([{ input: letters.png, left: PAD, top: PAD + bar }, ...marks])
    .raw()
    .toBuffer()
  await writeFile(path, raw)
  const margin = Math.round(size.width * 0.07) - PAD
  const x = subtitle ? Math.round((size.width - width) / 2) : margin
  const y = subtitle
    ? size.height - height - Math.round(size.height * 0.05) + PAD
    : place === 'sky'
      ? Math.max(0, Math.round(size.height * 0.3 - height / 2))
      : size.height - height - Math.round(size.height * 0.17) + PAD
  return { width, height, path, format: 'rgba', phases: 1, x: evenDown(x), y: evenDown(y) }
}

type Letters = Size & { png: Buffer; points: number }

async function setText(text: string, { size, subtitle }: { size: Size; subtitle: boolean }): Promise<Letters> {
  const units = unitsOf(text)
  const largest = size.width / size.height > 1.2 ? 68 : 54
  const points = subtitle ? 36 : Math.round(largest * (units <= 26 ? 1 : units <= 64 ? 0.79 : 0.64))
  const column = Math.round(Math.min(size.width * 0.86, subtitle ? 980 : points * 19))
  const full = await setLines(text, { points, column, centered: subtitle })
  if (full.height < points * 1.7) return full
  const lines = Math.round(full.height / (points * 1.3))
  const even_column = Math.round((units * points * 0.56) / lines + points * 0.6)
  if (even_column >= column) return full
  const balanced = await setLines(text, { points, column: even_column, centered: subtitle })
  return balanced.height <= full.height ? balanced : full
}

/** Words in lines of at most `column` pixels. The font is a file of a package: system fonts are not used. */
async function setLines(
  text: string,
  { points, column, centered }: { points: number; column: number; centered: boolean },
): Promise<Letters> {
  const escaped = text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
  const { data, info } = await sharp({
    text: {
      text: `<span foreground="#ffffff">${escaped}</span>`,
      font: `BIZ UDPGothic Bold ${points}`,
      fontfile: BOLD,
      width: column,
      rgba: true,
      wrap: 'word-char',
      dpi: 72,
      spacing: Math.round(points * 0.3),
      align: centered ? 'centre' : 'left',
    },
  })
    .png({ compressionLevel: 1 })
    .toBuffer({ resolveWithObject: true })
  return { png: data, width: info.width, height: info.height, points }
}

/** Two soft shadows of the words. */
async function shadowOf(alpha: Buffer, { width, height }: Size): Promise<Buffer> {
  const raw = { raw: { width, height, channels: 1 as const } }
  const near = await sharp(alpha, raw).blur(3).extractChannel(0).raw().toBuffer()
  const wide = await sharp(alpha, raw).blur(14).extractChannel(0).raw().toBuffer()
  const shadow = Buffer.alloc(width * height * 4)
  for (let i = 0; i < width * height; i++) shadow[i * 4 + 3] = Math.max(near[i]! * 0.75, Math.min(150, wide[i]! * 1.5))
  return shadow
}

/** A dark gradient at the lower edge, so that words can be read on any picture. */
export async function drawScrim(size: Size, path: string): Promise<Words> {
  const [width, height] = [size.width, even(size.height * 0.5)]
  const scrim = Buffer.alloc(width * height * 4)
  for (let y = 0; y < height; y++) {
    const depth = y / (height - 1)
    const level = Math.round(190 * depth * depth * (3 - 2 * depth))
    for (let x = 0; x < width; x++) scrim[(y * width + x) * 4 + 3] = level
  }
  await writeFile(path, scrim)
  return { width, height, path, format: 'rgba', phases: 1, x: 0, y: size.height - height }
}
