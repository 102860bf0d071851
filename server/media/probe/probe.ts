import type { MediaFamily } from './recognize.ts'
import { askWorker, WorkerError } from './workers.ts'

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

/** `owner`: whose file it is, since owners take turns; those without one share a line. `signal` ends the wait for a turn. */
export type ProbeOptions = { owner?: string | undefined; signal?: AbortSignal | undefined }

/** Reads the header of a picture, decoding nothing. Throws ProbeError `too_large` over 50 megapixels, `unreadable` for a broken one. */
export async function checkPicture(bytes: Uint8Array): Promise<void> {
  // Not at the start: it brings a native library, of which a service without pictures has no need.
  const { default: sharp } = await import('sharp')
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
 * Throws ProbeError; another error when there is no such file, or the signal's reason. Runs in a worker thread, at most 5 s a file.
 */
export async function probeFile(path: string, kind?: MediaFamily, options?: ProbeOptions): Promise<ProbeResult> {
  return (await probeMedia(path, kind, options)).result
}

/** The end of each track in seconds, video and audio tracks in separate lists. Reads as `probeFile` does, which reports only the longest. */
export async function probeTracks(path: string, kind: 'video' | 'audio', options?: ProbeOptions): Promise<MediaTracks> {
  return (await probeMedia(path, kind, options)).tracks
}

/**
 * Everything a probe reads, in one pass over the headers. As `probeFile`; with `whole`, an MP4 that ends before the boxes it announces
 * is `unreadable`, and a video has {@link OutputFacts}.
 */
export async function probeMedia(
  path: string,
  kind?: MediaFamily,
  { whole = false, owner = '', signal }: ProbeOptions & { whole?: boolean } = {},
): Promise<Probed> {
  const task: ProbeTask = { path, kind: kind ?? null, whole }
  const probed = await askWorker<ProbeReply>(task, { owner, signal }).catch((error: unknown) => {
    if (!(error instanceof WorkerError)) throw error
    throw new ProbeError(error.fault === 'died' ? 'unreadable' : 'time_limit', error.message)
  })
  if ('missing' in probed) throw new Error('The file to inspect is missing.')
  if ('fault' in probed) throw new ProbeError(probed.fault, probed.message)
  if (kind !== undefined && probed.result.kind !== kind) {
    throw new ProbeError('wrong_kind', `The file is ${probed.result.kind}, not ${kind}.`)
  }
  return probed
}

export type ProbeTask = { path: string; kind: MediaFamily | null; whole: boolean }
export type Probed = { media_type: string; result: ProbeResult; tracks: MediaTracks } & Partial<OutputFacts>
/**
 * Asked for with `whole`, of videos alone. `plays_everywhere`: H.264 of a profile that every browser plays. `has_tags`: the file says more
 * than which program wrote it.
 */
export type OutputFacts = { plays_everywhere: boolean; has_tags: boolean }
export type ProbeReply = Probed | { fault: ProbeFault; message: string } | { missing: true }
