import { hasTooManyFrames, IMAGE_PIXELS_MAX } from '../pictures.ts'
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

/**
 * Everything that a track holds, what players do not show included. `padding_seconds`: how much of it may be silence of the encoder;
 * `hidden_seconds`: how much an edit list leaves out.
 */
export type TrackSpan = { seconds: number; padding_seconds: number; hidden_seconds: number }

export type ProbeFault =
  | 'unrecognized'
  | 'wrong_kind'
  | 'unreadable'
  | 'ends_early'
  | 'several_pictures'
  | 'too_large'
  | 'too_many_frames'
  | 'time_limit'

/** A file that is not usable media. `fault` says why; the message names no path. */
export class ProbeError extends Error {
  override name = 'ProbeError'
  readonly fault: ProbeFault

  constructor(fault: ProbeFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** `owner`: whose file it is, since owners take turns; those without one share a line. `signal` ends the wait for a turn. */
export type ProbeOptions = { owner?: string | undefined; signal?: AbortSignal | undefined }

/** Reads the header of a picture, decoding nothing. Throws ProbeError `too_large` over 50 megapixels, `too_many_frames`, or `unreadable` for a broken one. */
export async function checkPicture(bytes: Uint8Array): Promise<void> {
  if (hasTooManyFrames(bytes)) throw new ProbeError('too_many_frames', 'The animation has too many frames.')
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
 * Throws ProbeError; another error when there is no such file, or the signal's reason. Runs in a worker thread, at most 5 s of processor
 * time a file.
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
  const task: ProbeTask = { do: 'probe', path, kind: kind ?? null, whole }
  const probed = await askProbe<Probed>(task, { owner, signal })
  if (kind !== undefined && probed.result.kind !== kind) {
    throw new ProbeError('wrong_kind', `The file is ${probed.result.kind}, not ${kind}.`)
  }
  return probed
}

/** What `uploadFacts` finds. */
export type UploadFacts = {
  media_type: string
  family: MediaFamily
  /** Of a picture. */
  picture: ProbeResult | null
  /** Why video engines have to be sent a copy of it; empty when they can be sent the upload. */
  copy_because: CopyReason[]
}

/**
 * `extra_track`: it holds a track beside the one of pictures and the one of sound. `hidden_part`: an edit list leaves out part of a track.
 * `attached_picture`: a cover. `attached_clip`: that of a motion photo. `leading_zeros`: before the first frame of an MP3. `wrong_size`: a
 * WAV whose header announces more than there is. `turned`: a picture that viewers turn. `repaired`: a JPEG that viewers show although it is
 * not well formed.
 */
export type CopyReason =
  | 'extra_track'
  | 'hidden_part'
  | 'attached_picture'
  | 'attached_clip'
  | 'leading_zeros'
  | 'wrong_size'
  | 'turned'
  | 'repaired'

/**
 * What an upload is by its tracks: an MP4, MOV or WebM with sound and no picture is a sound. A picture is decoded to its end, the rest by
 * headers alone. `media_type` is what its first bytes say, `kind` what it is uploaded as. Throws as `probeFile`.
 */
export async function uploadFacts(
  path: string,
  {
    media_type,
    kind,
    owner = '',
    signal,
  }: { media_type: string; kind: MediaFamily; owner?: string | undefined; signal?: AbortSignal | undefined },
): Promise<UploadFacts> {
  return askProbe<UploadFacts>({ do: 'inspect', path, media_type, kind }, { owner, signal })
}

/** Writes to `to` what players show of a clip or sound: `remux`, in a worker thread. Throws as `probeFile`. */
export async function copyShown(
  path: string,
  to: string,
  {
    media_type,
    kind,
    owner = '',
    signal,
  }: { media_type: string; kind: 'video' | 'audio'; owner?: string | undefined; signal?: AbortSignal | undefined },
): Promise<void> {
  await askProbe({ do: 'copy', path, to, media_type, kind }, { owner, signal })
}

async function askProbe<Reply>(
  task: WorkerTask,
  options: { owner: string; signal?: AbortSignal | undefined },
): Promise<Reply> {
  const reply = await askWorker<Reply | ProbeFailure>(task, options).catch((error: unknown) => {
    if (!(error instanceof WorkerError)) throw error
    throw new ProbeError(error.fault === 'died' ? 'unreadable' : 'time_limit', error.message)
  })
  const failure = reply as Partial<Record<'missing' | 'fault' | 'message', unknown>>
  if (failure.missing === true) throw new Error('The file to inspect is missing.')
  if (failure.fault !== undefined) throw new ProbeError(failure.fault as ProbeFault, String(failure.message))
  return reply as Reply
}

export type ProbeTask = { do: 'probe'; path: string; kind: MediaFamily | null; whole: boolean }
export type InspectTask = { do: 'inspect'; path: string; media_type: string; kind: MediaFamily }
export type CopyTask = { do: 'copy'; path: string; to: string; media_type: string; kind: 'video' | 'audio' }
export type WorkerTask = ProbeTask | InspectTask | CopyTask

export type Probed = {
  media_type: string
  result: ProbeResult
  tracks: MediaTracks
  /** One for each track, as in `tracks`. */
  spans: { video: TrackSpan[]; audio: TrackSpan[] }
  /** With which FFmpeg reads the container; null for pictures. */
  demuxer: string | null
} & Partial<OutputFacts>
/**
 * Asked for with `whole`, of videos alone. `plays_everywhere`: H.264 of a profile that every browser plays. `has_tags`: the file says more
 * than which program wrote it.
 */
export type OutputFacts = { plays_everywhere: boolean; has_tags: boolean }
export type ProbeFailure = { fault: ProbeFault; message: string } | { missing: true }
