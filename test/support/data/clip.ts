import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FilePathSource, Input, MP4 } from 'mediabunny'
import type {
  InputRole,
  RenderInput,
  RenderRequest,
  RenderState,
  VideoEngine,
} from '../../../server/engines/video/contract.ts'
import { outputSize } from '../../../server/media/aspect.ts'
import { runFfmpeg } from '../../../server/media/ffmpeg/run.ts'
import { type ProbeResult, probeFile } from '../../../server/media/probe/probe.ts'

/** A render input read from a file; `probe` stands in for a file that cannot be probed. */
export async function inputFrom(role: InputRole, path: string, probe?: ProbeResult): Promise<RenderInput> {
  const bytes = await readFile(path)
  return {
    role,
    media_type: 'application/octet-stream',
    size_bytes: bytes.length,
    probe: probe ?? (await probeFile(path)),
    open: async () => new Blob([bytes]).stream(),
    signedUrl: async () => {
      throw new Error('bytes are taken')
    },
  }
}

export function requestOf(fields: Partial<RenderRequest> & { job_id: string }): RenderRequest {
  const inputs = fields.inputs ?? []
  const aspect_ratio = fields.aspect_ratio ?? '1:1'
  return {
    attempt_id: `attempt-of-${fields.job_id}`,
    model: 'storyboard-1',
    prompt: 'translated',
    original_prompt: 'A lighthouse at dusk. <d>Who is there?</d>',
    seconds: 4,
    aspect_ratio,
    ...outputSize(aspect_ratio, inputs),
    seed: 7,
    inputs,
    ...fields,
  }
}

/** Polls a render until it ends. `seen` collects the progress reported. */
export async function finish(engine: VideoEngine, request: RenderRequest, seen: number[] = []): Promise<RenderState> {
  const signal = new AbortController().signal
  const ticket = await engine.start(request, signal)
  for (;;) {
    const state = await engine.poll(ticket, signal)
    if (state.state !== 'running') return state
    if (state.progress !== undefined) seen.push(state.progress)
    await pause(50)
  }
}

/** Renders, fetches and writes the clip to `path`. */
export async function renderTo(
  path: string,
  engine: VideoEngine,
  request: RenderRequest,
  seen?: number[],
): Promise<Buffer> {
  const state = await finish(engine, request, seen)
  if (state.state !== 'succeeded')
    throw new Error(`render ended as ${state.state}`, { cause: 'error' in state ? state.error : undefined })
  const signal = new AbortController().signal
  const ticket = await engine.start(request, signal)
  const bytes = Buffer.from(await new Response(await engine.fetch(ticket, state.output, signal)).arrayBuffer())
  await writeFile(path, bytes)
  return bytes
}

/** Facts of an MP4 that players care about. `frames` counts pictures, `rate` pictures a second. */
export async function factsOf(path: string) {
  const bytes = await readFile(path)
  const input = new Input({ source: new FilePathSource(path), formats: [MP4] })
  const video = await input.getPrimaryVideoTrack()
  const audio = await input.getPrimaryAudioTrack()
  const stats = await video!.computePacketStats()
  const facts = {
    size: [await video!.getDisplayWidth(), await video!.getDisplayHeight()],
    codecs: [await video!.getCodec(), audio && (await audio.getCodec())],
    frames: stats.packetCount,
    rate: Math.round(stats.averagePacketRate * 100) / 100,
    audio_seconds: Math.round((await audio?.computeDuration()) ?? 0),
    index_first: bytes.indexOf('moov') < bytes.indexOf('mdat'),
  }
  input.dispose()
  return facts
}

/** Pictures of a clip by their numbers, in ascending order, as raw RGB. */
export async function framesOf(path: string, numbers: readonly number[], dir: string): Promise<Buffer[]> {
  const select = numbers.map((n) => `eq(n,${n})`).join('+')
  const args = ['-vf', `select='${select}'`, '-fps_mode', 'passthrough', '-frames:v', String(numbers.length)]
  const bytes = await written({ path, dir, name: 'frames.raw', args: [...args, '-f', 'rawvideo', '-pix_fmt', 'rgb24'] })
  const size = bytes.length / numbers.length
  return numbers.map((_, index) => bytes.subarray(index * size, (index + 1) * size))
}

/** What FFmpeg writes as `name` when it reads a clip with these options. */
async function written(run: { path: string; dir: string; name: string; args: readonly string[] }): Promise<Buffer> {
  const output = join(run.dir, run.name)
  await runFfmpeg(
    { inputs: { clip: run.path }, args: ['-i', 'clip', ...run.args, run.name], outputs: { [run.name]: output } },
    { time_limit_seconds: 60, work_dir: run.dir },
  )
  return await readFile(output)
}

/** Peak signal-to-noise ratio in decibels: above 35 two pictures look the same. */
export function psnr(a: Buffer, b: Buffer): number {
  if (a.length !== b.length) return 0
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2
  return 10 * Math.log10(255 ** 2 / Math.max(1e-9, sum / a.length))
}

/** Loudness of a clip's sound in decibels below full scale: all of it, and of a narrow band around `hertz`. */
export async function soundOf(path: string, hertz: number, dir: string): Promise<{ all: number; band: number }> {
  const args = ['-vn', '-ac', '1', '-ar', '8000', '-f', 's16le']
  const bytes = await written({ path, dir, name: 'sound.raw', args })
  const count = Math.floor(bytes.length / 2)
  let [energy, re, im] = [0, 0, 0]
  for (let i = 0; i < count; i++) {
    const sample = bytes.readInt16LE(i * 2) / 32768
    energy += sample ** 2
    re += sample * Math.cos((2 * Math.PI * hertz * i) / 8000)
    im += sample * Math.sin((2 * Math.PI * hertz * i) / 8000)
  }
  return {
    all: 10 * Math.log10(energy / count + 1e-12),
    band: 20 * Math.log10((Math.SQRT2 * Math.hypot(re, im)) / count + 1e-9),
  }
}
