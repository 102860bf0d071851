import type { Context } from '../context.ts'
import type { InputRole } from '../engines/video/contract.ts'
import type { StoredFile } from '../files/store/files.ts'
import { ChildError } from '../media/children/run.ts'
import { FfmpegError } from '../media/ffmpeg/choose.ts'
import { ProbeError, type ProbeFault, type TrackSpan } from '../media/probe/probe.ts'
import type { Outcome } from './job.ts'
import type { VideoJobRow } from './store.ts'

/** Clips and sounds of 2 to 15 seconds, with a twentieth of a second of tolerance because muxers round. Source: contract 5.1. */
const DURATION_SECONDS = { min: 1.95, max: 15.05 }
/** Longest length of a clip or sound in what engines are sent: what encoders add to 15 seconds is no part of it. */
export const SENT_SECONDS_MAX = 15

/** A file of a job that cannot be used. `what` completes "it cannot be used: …", `remedy` is a sentence; `reason` is for the log. */
class InputProblem extends Error {
  override name = 'InputProblem'
  readonly reason: string
  readonly what: string
  readonly remedy: string

  constructor(reason: string, { what, remedy }: { what: string; remedy: string }) {
    super(what)
    this.reason = reason
    this.what = what
    this.remedy = remedy
  }
}

/**
 * Throws InputProblem for a clip or sound that is not 2 to 15 seconds long. All that is sent counts, what an edit list hides included;
 * the silence that encoders put around a sound does not.
 */
export function requireLength(spans: readonly TrackSpan[]): void {
  const seconds = Math.max(0, ...spans.map((span) => span.seconds))
  const long = spans.find((span) => span.seconds > DURATION_SECONDS.max + span.padding_seconds)
  if (long === undefined && seconds >= DURATION_SECONDS.min) return
  throw wrongLength(long?.seconds ?? seconds, long?.hidden_seconds)
}

/** As `requireLength`, for the length that a sound turned out to have. */
export function requireSoundLength(seconds: number, spans: readonly TrackSpan[]): void {
  const padding = Math.max(0, ...spans.map((span) => span.padding_seconds))
  if (seconds > DURATION_SECONDS.max + padding + DECODED_SECONDS) throw wrongLength(seconds)
}

/** Decoders end some packets late. */
const DECODED_SECONDS = 0.3

function wrongLength(seconds: number, hidden_seconds = 0): InputProblem {
  const hidden =
    hidden_seconds > 0.1
      ? `, ${hidden_seconds.toFixed(1)} s of which its edit list hides although they would be sent too`
      : ''
  const what = `it is ${seconds.toFixed(1)} s long${hidden}, and clips and sounds must last 2 to 15 s`
  const remedy = hidden ? 'Export the part that is shown as a new file, and upload that.' : 'Upload one of that length.'
  return new InputProblem(`length of ${seconds.toFixed(2)} s`, { what, remedy })
}

/** Whether the media itself is at fault: unreadable, of another kind, or beyond the limits of the decoders. */
export function isMediaFault(error: unknown): boolean {
  if (error instanceof FfmpegError) return error.fault !== 'unavailable'
  return error instanceof ProbeError || error instanceof ChildError || error instanceof InputProblem
}

/** Whether decoding took too long or was killed: the machine may be busy, so this is tried again before anything is said about the file. */
export function isSlowness(error: unknown): boolean {
  return (
    (error instanceof FfmpegError || error instanceof ChildError) &&
    (error.fault === 'time_limit' || error.fault === 'died')
  )
}

/** Fails the job for a fault of one of its files, with a message that names the file, what is wrong and what to do. */
export function rejectInput(
  ctx: Pick<Context, 'log'>,
  job: Pick<VideoJobRow, 'id'>,
  { role, file }: { role: InputRole; file: Pick<StoredFile, 'id' | 'filename'> },
  error: unknown,
): Outcome {
  const { reason, what, remedy } = problemOf(error, role)
  const code = 'invalid_reference_media'
  ctx.log.warn('input_rejected', { video_id: job.id, file_id: file.id, code, detail: `${role}: ${reason}` })
  const message = `The ${NOUNS[role]} '${file.filename}' (${file.id}) cannot be used: ${what}. ${remedy} Nothing was billed.`
  return { to: 'failed', code, message }
}

const NOUNS: Record<InputRole, string> = {
  first_frame: 'first frame',
  last_frame: 'last frame',
  reference_image: 'reference image',
  reference_video: 'reference video',
  reference_audio: 'reference sound',
}

function problemOf(error: unknown, role: InputRole): Pick<InputProblem, 'reason' | 'what' | 'remedy'> {
  if (error instanceof InputProblem) return error
  if (error instanceof ProbeError) {
    const { what, remedy = AGAIN } = FAULTS[error.fault]
    return { reason: `${error.fault}: ${error.message}`, what, remedy }
  }
  const detail = error instanceof FfmpegError || error instanceof ChildError ? error.fault : 'failed'
  const part = role === 'reference_video' ? 'its pictures or its sound' : 'it'
  return { reason: `not decodable: ${detail}`, what: `${part} cannot be decoded to the end`, remedy: AGAIN }
}

const AGAIN = 'Export it again, and upload the new file.'

const FAULTS: Record<ProbeFault, { what: string; remedy?: string }> = {
  unrecognized: { what: 'its content is of no supported type' },
  wrong_kind: {
    what: 'its content does not fit its role: a sound must be without pictures, a clip must have some',
    remedy: 'Upload one that fits.',
  },
  unreadable: { what: 'it is damaged or incomplete, so it cannot be decoded' },
  ends_early: { what: 'it ends before the length that it announces, so it cannot be decoded to its end' },
  several_pictures: {
    what: 'it has two picture tracks or more',
    remedy: 'Export it with one picture track, and upload the new file.',
  },
  too_large: { what: 'it has more than 50 megapixels', remedy: 'Upload a smaller one.' },
  too_many_frames: { what: 'it has too many frames', remedy: 'Upload a shorter animation.' },
  time_limit: { what: 'it takes too much processor time to inspect' },
}
