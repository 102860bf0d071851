import { Worker } from 'node:worker_threads'
import sharp from 'sharp'
import type { MediaFamily } from './recognize.ts'

/** What `probeFile` reads from the bytes of a media file. */
export type ProbeResult = {
  kind: MediaFamily
  /** Pixels after rotation; null for audio. */
  width: number | null
  height: number | null
  /** The longest track; null for images. */
  duration_seconds: number | null
  video_codec: string | null
  audio_codec: string | null
}

/** Seconds from the start of the file to the end of each track. */
export type MediaTracks = { video_seconds: number[]; audio_seconds: number[] }

export type ProbeFault = 'unrecognized' | 'wrong_kind' | 'unreadable' | 'too_large' | 'time_limit'

/** A file that is not usable media. `fault` says why; the message names no path. */
export class ProbeError extends Error {
  override name = 'ProbeError'
  readonly fault: ProbeFault

  constructor(fault: ProbeFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** A decoded picture may have this many pixels; the header is refused beyond it. */
export const IMAGE_PIXELS_MAX = 50_000_000

/** A probe that takes longer is reading a hostile file, not a large one. */
const PROBE_SECONDS = 5

/** Reads the header of a picture, decoding nothing. Throws ProbeError `too_large` over 50 megapixels, `unreadable` for a broken one. */
export async function checkPicture(bytes: Uint8Array): Promise<void> {
  try {
    await sharp(bytes, { limitInputPixels: IMAGE_PIXELS_MAX }).metadata()
  } catch (error) {
    const tooLarge = error instanceof Error && /pixel limit/i.test(error.message)
    if (tooLarge) throw new ProbeError('too_large', 'The image has too many pixels.')
    throw new ProbeError('unreadable', 'The image is damaged or incomplete.')
  }
}

/**
 * Reads size, duration and codecs from a file's headers, without decoding. Durations are seconds, sizes pixels after rotation.
 * With `kind`, a file of another kind is `wrong_kind`; an audio file with a picture track counts as audio.
 * Throws ProbeError; another error when there is no such file. Runs in one worker thread, at most 5 s a file.
 */
export async function probeFile(path: string, kind?: MediaFamily): Promise<ProbeResult> {
  return (await probeMedia(path, kind)).result
}

/** The end of each track in seconds, video and audio tracks in separate lists. Reads as `probeFile` does, which reports only the longest. */
export async function probeTracks(path: string, kind: 'video' | 'audio'): Promise<MediaTracks> {
  return (await probeMedia(path, kind)).tracks
}

/**
 * Everything a probe reads, in one pass over the headers. As `probeFile`; with `whole`, an MP4 that ends before the boxes it announces
 * is `unreadable`.
 */
export async function probeMedia(
  path: string,
  kind?: MediaFamily,
  { whole = false }: { whole?: boolean } = {},
): Promise<Probed> {
  const probed = await inWorker({ path, kind: kind ?? null, whole })
  if (kind !== undefined && probed.result.kind !== kind) {
    throw new ProbeError('wrong_kind', `The file is ${probed.result.kind}, not ${kind}.`)
  }
  return probed
}

export type ProbeTask = { path: string; kind: MediaFamily | null; whole: boolean }
export type Probed = { media_type: string; result: ProbeResult; tracks: MediaTracks }
export type ProbeReply = Probed | { fault: ProbeFault; message: string } | { missing: true }

/** One worker for the process: it holds no state between files. */
let worker: Worker | null = null
let turn: Promise<unknown> = Promise.resolve()

/** One file at a time: the worker stays warm (a probe costs 1 to 15 ms) and is terminated when a file takes too long. */
function inWorker(task: ProbeTask): Promise<Probed> {
  const mine = turn.then(() => ask(task))
  turn = mine.catch(() => undefined)
  return mine
}

function ask(task: ProbeTask): Promise<Probed> {
  worker ??= new Worker(new URL('./worker.ts', import.meta.url), {
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 192 },
  })
  const current = worker
  current.ref()
  return new Promise((resolve, reject) => {
    const settle = (reply: ProbeReply, usable: boolean) => {
      clearTimeout(timer)
      current.off('message', onMessage).off('error', onError)
      if (usable) current.unref()
      else {
        worker = null
        current.on('error', () => undefined)
        void current.terminate()
      }
      if ('result' in reply) resolve(reply)
      else if ('missing' in reply) reject(new Error('The file to inspect is missing.'))
      else reject(new ProbeError(reply.fault, reply.message))
    }
    const onMessage = (reply: ProbeReply) => settle(reply, true)
    const onError = (error: Error) => settle({ fault: 'unreadable', message: `Probe failed: ${error.message}` }, false)
    const timer = setTimeout(
      () => settle({ fault: 'time_limit', message: 'The file took too long to inspect.' }, false),
      PROBE_SECONDS * 1000,
    )
    current.on('message', onMessage).on('error', onError)
    current.postMessage(task)
  })
}
