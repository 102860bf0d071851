import type { Static } from 'typebox'
import type { CreateVideo } from '../../../server/videos/schema.ts'
import { type Attachment, isReady, RULES, SLOTS, type Slot, storedAttachment } from './attachments.ts'
import { countCharacters, PROMPT_MAX } from './prompt.ts'

export type VideoRequest = Static<typeof CreateVideo>
export type AspectRatio = VideoRequest['aspect_ratio']
export type Mode = 'text' | 'frames' | 'references'

export const ASPECT_RATIOS: readonly AspectRatio[] = ['Auto', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16']
export const MODES: readonly Mode[] = ['text', 'frames', 'references']
export const SECONDS = { min: 4, max: 15 }
export const CLIPS: readonly number[] = [1, 2, 3, 4]

/** A request being edited. Files of the other modes are kept but not sent. */
export type Draft = {
  prompt: string
  /** null until the person chooses: the first model is used. */
  model: string | null
  seconds: number
  aspect_ratio: AspectRatio
  mode: Mode
  files: Record<Slot, Attachment[]>
  /** How many clips are made of the request. */
  clips: number
  /** It came from an earlier clip: what its model does not take of that is said. */
  is_repeat: boolean
  /** It is what was sent before, unchanged: nothing is lost when another draft replaces it. */
  is_sent: boolean
  /** Which clip it continues: the title, and the file of its last frame. */
  continues: { title: string; file_id: string } | null
  /** The id of the clip it was made from. */
  made_from: string | null
}

export function emptyDraft(): Draft {
  const files = { first_frame: [], last_frame: [], images: [], videos: [], audio: [] }
  const plain = { model: null, seconds: 8, aspect_ratio: '16:9', mode: 'text' } as const
  const blank = { clips: 1, is_repeat: false, is_sent: false, continues: null, made_from: null }
  return { prompt: '', ...plain, files, ...blank }
}

export function slotsOf(mode: Mode): readonly Slot[] {
  if (mode === 'text') return []
  return mode === 'frames' ? ['first_frame', 'last_frame'] : ['images', 'videos', 'audio']
}

/** The body of `POST /v1/videos` for a complete draft. */
export function requestOf(draft: Draft, model: string): VideoRequest {
  const { prompt, seconds, aspect_ratio, mode } = draft
  const ids = (slot: Slot) => draft.files[slot].filter(isReady).map(({ file_id }) => ({ file_id: file_id! }))
  const body: VideoRequest = { model, prompt, seconds, aspect_ratio }
  if (mode === 'frames') {
    body.image_reference = (['first_frame', 'last_frame'] as const).flatMap((role) =>
      ids(role).map(({ file_id }) => ({ file_id, role })),
    )
  } else if (mode === 'references') {
    const given = (['images', 'videos', 'audio'] as const).map((slot) => [slot, ids(slot)] as const)
    body.references = Object.fromEntries(given.filter(([, list]) => list.length > 0))
  }
  return body
}

/** What a submission leaves in the form: one clip, which comes from no other. Prompt and settings stay. */
export function afterSubmission({ continues, mode, files }: Draft): Partial<Draft> {
  const done = { clips: 1, continues: null, made_from: null }
  if (!continues) return done
  const first_frame = files.first_frame.filter(({ file_id }) => file_id !== continues.file_id)
  const hasFrame = first_frame.length + files.last_frame.length > 0
  return { ...done, files: { ...files, first_frame }, mode: mode === 'frames' && !hasFrame ? 'text' : mode }
}

/** The clip that a request comes from; none once the frame with which it continued that clip is out of it. */
export function originOf({ continues, mode, files, made_from }: Draft): string | undefined {
  const isLeft = continues && (mode !== 'frames' || files.first_frame[0]?.file_id !== continues.file_id)
  return isLeft ? undefined : (made_from ?? undefined)
}

/** Why a draft cannot be sent yet; null when it can. Money and terms are checked elsewhere. */
export function missingFrom(draft: Draft): Missing | null {
  const { prompt, files, mode } = draft
  const sent = slotsOf(mode).flatMap((slot) => files[slot])
  if (prompt.trim() === '') return 'prompt_missing'
  if (countCharacters(prompt) > PROMPT_MAX) return 'prompt_long'
  if (sent.some(({ problem }) => problem !== null)) return 'file_refused'
  if (sent.some(({ file_id }) => file_id === null)) return 'uploading'
  if (mode === 'frames' && sent.length === 0) return 'frame_missing'
  if (mode === 'references' && files.images.length + files.videos.length === 0)
    return files.audio.length > 0 ? 'audio_alone' : 'reference_missing'
  return null
}

export type Missing =
  | 'prompt_missing'
  | 'prompt_long'
  | 'file_refused'
  | 'uploading'
  | 'frame_missing'
  | 'reference_missing'
  | 'audio_alone'

/** Serializes a draft with those of its files that are uploaded, or were and are gone. */
export function writeDraft(draft: Draft): string {
  const files = Object.fromEntries(
    SLOTS.map((slot) => [
      slot,
      draft.files[slot].flatMap(({ file_id: id, filename, bytes }) => (id === null ? [] : [{ id, filename, bytes }])),
    ]),
  )
  return JSON.stringify({ ...draft, files })
}

/** Parses the text of `writeDraft`; null for any other text. */
export function readDraft(text: string | null): Draft | null {
  try {
    const stored = JSON.parse(text ?? '')
    const blank = emptyDraft()
    const draft = {
      prompt: typeof stored.prompt === 'string' ? stored.prompt : blank.prompt,
      model: typeof stored.model === 'string' ? stored.model : null,
      seconds: clampSeconds(stored.seconds) ?? blank.seconds,
      aspect_ratio: ASPECT_RATIOS.find((ratio) => ratio === stored.aspect_ratio) ?? blank.aspect_ratio,
      mode: MODES.find((mode) => mode === stored.mode) ?? blank.mode,
      files: blank.files as Draft['files'],
      clips: CLIPS.find((clips) => clips === stored.clips) ?? blank.clips,
      is_repeat: stored.is_repeat === true,
      is_sent: stored.is_sent === true,
      continues: typeof stored.continues?.title === 'string' ? stored.continues : null,
      made_from: typeof stored.made_from === 'string' ? stored.made_from : null,
    }
    for (const slot of SLOTS) draft.files[slot] = readFiles(stored.files?.[slot]).slice(0, RULES[slot].count_max)
    return draft
  } catch {
    return null
  }
}

function readFiles(stored: unknown): Attachment[] {
  if (!Array.isArray(stored)) return []
  const valid = stored.filter(
    ({ id, filename, bytes }) => typeof id === 'string' && typeof filename === 'string' && bytes >= 0,
  )
  return valid.map(storedAttachment)
}

/** A whole number of seconds within the limits; null when the value is not a number. */
function clampSeconds(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return null
  return Math.min(SECONDS.max, Math.max(SECONDS.min, Math.round(value)))
}

/** Width divided by height; Auto counts as 16:9. */
export function widthByHeight(ratio: AspectRatio): number {
  if (ratio === 'Auto') return 16 / 9
  const [width, height] = ratio.split(':').map(Number) as [number, number]
  return width / height
}
