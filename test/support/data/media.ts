import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { runFfmpeg } from '../../../server/media/ffmpeg/run.ts'

/** A small real picture: a two-color diagonal, so that orientation and cropping show. */
export async function samplePicture(
  format: 'png' | 'jpeg' | 'webp' | 'gif' = 'png',
  { width = 320, height = 240, from = '#104080', to = '#f0a030' } = {},
): Promise<Uint8Array> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <defs><linearGradient id="g" x1="0" y1="0" x2="1" y2="1"><stop offset="0" stop-color="${from}"/><stop offset="1" stop-color="${to}"/></linearGradient></defs>
    <rect width="100%" height="100%" fill="url(#g)"/><circle cx="30%" cy="35%" r="14%" fill="#ffffff"/>
    <rect x="60%" y="55%" width="22%" height="30%" fill="#202020"/></svg>`
  const picture = sharp(Buffer.from(svg)).removeAlpha()
  return new Uint8Array(await picture.toFormat(format).toBuffer())
}

export type SampleKind = 'mp4' | 'mov' | 'webm' | 'silent.mp4' | 'mp3' | 'wav' | 'flac' | 'ogg' | 'm4a' | 'aac'

const H264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p'

/** Encoder options of each sample; streams 0 (picture) and 1 (tone) are the inputs. */
const SAMPLES: Record<SampleKind, string> = {
  mp4: `-map 0 -map 1 ${H264} -c:a aac`,
  mov: `-map 0 -map 1 ${H264} -c:a aac`,
  webm: '-map 0 -map 1 -c:v libvpx -deadline realtime -cpu-used 8 -b:v 300k -c:a libopus',
  'silent.mp4': `-map 0 ${H264}`,
  mp3: '-map 1 -c:a libmp3lame -b:a 64k',
  wav: '-map 1 -c:a pcm_s16le',
  flac: '-map 1 -c:a flac',
  ogg: '-map 1 -c:a libvorbis',
  m4a: '-map 1 -c:a aac',
  aac: '-map 1 -c:a aac -f adts',
}

/** Runs FFmpeg with these options, which name the files it writes into `dir`. */
export async function encoded<K extends string>(
  dir: string,
  args: string,
  names: readonly K[],
): Promise<Record<K, string>> {
  const paths = Object.fromEntries(names.map((name) => [name, join(dir, name)])) as Record<K, string>
  await runFfmpeg({ inputs: {}, args: args.split(/\s+/), outputs: paths }, { time_limit_seconds: 60, work_dir: dir })
  return paths
}

/** Writes small real clips and sounds of `seconds` into `dir` (one FFmpeg run) and returns their paths. The tone is 440 Hz. */
export async function sampleMedia<K extends SampleKind>(
  dir: string,
  kinds: readonly K[],
  { seconds = 3, width = 160, height = 120, rate = 24, name = 'sample', tone_hz = 440 } = {},
): Promise<Record<K, string>> {
  const paths = Object.fromEntries(kinds.map((kind) => [kind, join(dir, `${name}.${kind}`)])) as Record<K, string>
  const picture = `testsrc=s=${width}x${height}:r=${rate}:d=${seconds}`
  const tone = `sine=f=${tone_hz}:r=44100:d=${seconds}`
  const outputs = kinds.map((kind) => `${SAMPLES[kind]} out.${kind}`)
  await runFfmpeg(
    {
      inputs: {},
      args: `-f lavfi -i ${picture} -f lavfi -i ${tone} ${outputs.join(' ')}`.split(' '),
      outputs: Object.fromEntries(kinds.map((kind) => [`out.${kind}`, paths[kind]])),
    },
    { time_limit_seconds: 60, work_dir: dir },
  )
  return paths
}

/** A well-formed PNG whose header claims `width` × `height` pixels and whose data are a few bytes. */
export function pngHeader(width: number, height: number): Uint8Array {
  const header = Buffer.concat([uint32(width), uint32(height), Buffer.from([8, 2, 0, 0, 0])])
  return pngOf([chunk('IHDR', header), chunk('IDAT', deflateSync(Buffer.alloc(64)))])
}

function pngOf(chunks: readonly Buffer[]): Uint8Array {
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return new Uint8Array(Buffer.concat([signature, ...chunks, chunk('IEND', Buffer.alloc(0))]))
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  return Buffer.concat([uint32(data.length), body, uint32(crc32(body))])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A JPEG that viewers turn by a quarter: its tag says so. The picture is `width` × `height` before. */
export async function turnedPhoto({ width = 64, height = 48 } = {}): Promise<Uint8Array> {
  const photo = sharp(await samplePicture('png', { width, height }))
  return new Uint8Array(await photo.withMetadata({ orientation: 6 }).jpeg().toBuffer())
}

/** The JPEG as some phones write it: the three bytes that end the header of its only scan are zero. */
export function withZeroedScan(jpeg: Uint8Array): Uint8Array {
  const bytes = Buffer.from(jpeg)
  const scan = bytes.indexOf(Buffer.from('ffda', 'hex'))
  bytes.fill(0, scan + 5 + 2 * bytes[scan + 4]!, scan + 8 + 2 * bytes[scan + 4]!)
  return bytes
}

/**
 * The MP4 with edit lists that show `seconds` of every track from `start` on, as phones and `ffmpeg -ss … -c copy` write it. It has one
 * edit in each track already.
 */
export function withEdits(mp4: Uint8Array, { start = 0, seconds }: { start?: number; seconds: number }): Buffer {
  const bytes = Buffer.from(mp4)
  const movie = bytes.indexOf('mvhd') + 4
  const timescale = bytes.readUInt32BE(movie + 12)
  bytes.writeUInt32BE(seconds * timescale, movie + 16)
  for (let at = bytes.indexOf('elst'); at > 0; at = bytes.indexOf('elst', at + 4)) {
    const media = bytes.indexOf('mdhd', at) + 4
    bytes.writeUInt32BE(seconds * timescale, bytes.lastIndexOf('tkhd', at) + 4 + 20)
    bytes.writeUInt32BE(seconds * timescale, at + 12)
    bytes.writeInt32BE(bytes.readInt32BE(at + 16) + start * bytes.readUInt32BE(media + 12), at + 16)
  }
  return bytes
}

/** Writes the first `fraction` of a file beside it and returns the path. */
export async function truncated(path: string, fraction: number): Promise<string> {
  const bytes = await readFile(path)
  const cut = `${path}.cut`
  await writeFile(cut, bytes.subarray(0, Math.floor(bytes.length * fraction)))
  return cut
}

/** A moving picture: frame `i` of `frames` is a white square that has come `i` steps, each shown for a tenth of a second. */
export async function animatedPicture(format: 'gif' | 'webp', frames: number): Promise<Uint8Array> {
  const pictures = await Promise.all(Array.from({ length: frames }, (_, i) => movingSquare(i)))
  const animation = sharp(pictures, { join: { animated: true } })
  const delay = Array.from({ length: frames }, () => 100)
  const options = { loop: 0, delay }
  return new Uint8Array(await (format === 'gif' ? animation.gif(options) : animation.webp(options)).toBuffer())
}

/** The same as an animated PNG, whose first picture is not part of the animation. Source: https://www.w3.org/TR/png-3/#apng-frame-based-animation */
export async function animatedPng(frames: number): Promise<Uint8Array> {
  const pictures = await Promise.all(Array.from({ length: frames + 1 }, (_, i) => movingSquare(i)))
  const parts = pictures.map((png) => ({ head: chunksOf(png, 'IHDR')[0]!, data: Buffer.concat(chunksOf(png, 'IDAT')) }))
  const [still, ...moving] = parts
  const shown = Buffer.concat([Buffer.alloc(8), Buffer.from([0, 1, 0, 10, 0, 0])])
  const animation = moving.flatMap(({ head, data }, i) => [
    chunk('fcTL', Buffer.concat([uint32(2 * i), head.subarray(0, 8), shown])),
    chunk('fdAT', Buffer.concat([uint32(2 * i + 1), data])),
  ])
  const start = [chunk('IHDR', still!.head), chunk('acTL', Buffer.concat([uint32(frames), uint32(0)]))]
  return pngOf([...start, chunk('IDAT', still!.data), ...animation])
}

function movingSquare(step: number): Promise<Buffer> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="320" height="240"><rect width="320" height="240" fill="#103050"/>
    <rect x="${step * 6}" y="${40 + step * 3}" width="60" height="60" fill="#ffffff"/></svg>`
  return sharp(Buffer.from(svg)).removeAlpha().png().toBuffer()
}

function chunksOf(png: Buffer, name: string): Buffer[] {
  const found: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === name) found.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  return found
}

/** The file with every seventh byte between two fractions of it changed: the container stays whole, what is in it does not. */
export function damaged(path: string, from: number, to: number): Uint8Array {
  const bytes = new Uint8Array(readFileSync(path))
  for (let at = Math.floor(bytes.length * from); at < Math.floor(bytes.length * to); at += 7)
    bytes[at] = (bytes[at]! * 31 + 17) & 255
  return bytes
}
