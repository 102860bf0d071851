import type { Static } from 'typebox'
import type { CreateVideo } from '../../../server/videos/schema.ts'
import { type Attachment, isReady, RULES, SLOTS, type Slot, storedAttachment } from '../inputs/attachments.ts'

export type VideoRequest = Static<typeof CreateVideo>
export type AspectRatio = VideoRequest['aspect_ratio']
export type Mode = 'text' | 'frames' | 'references'

export const ASPECT_RATIOS: readonly AspectRatio[] = ['Auto', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16']
export const MODES: readonly Mode[] = ['text', 'frames', 'references']
export const SECONDS = { min: 4, max: 15 }
export const PROMPT_MAX = 7000

/** A request in the making. Files of the modes that are not chosen stay, unsent. */
export type Draft = {
  prompt: string
  /** null until the person chose: the first model then. */
  model: string | null
  seconds: number
  aspect_ratio: AspectRatio
  mode: Mode
  files: Record<Slot, Attachment[]>
}

export function emptyDraft(): Draft {
  const files = { first_frame: [], last_frame: [], images: [], videos: [], audio: [] }
  return { prompt: '', model: null, seconds: 8, aspect_ratio: '16:9', mode: 'text', files }
}

/** Characters as the service counts them: code points. */
export function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

export function slotsOf(mode: Mode): readonly Slot[] {
  if (mode === 'text') return []
  return mode === 'frames' ? ['first_frame', 'last_frame'] : ['images', 'videos', 'audio']
}

/** The body of `POST /v1/videos` for a draft that is complete. */
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

/** Why a draft cannot be sent yet, most telling first; null when it can. Money and terms are looked at elsewhere. */
export function gapOf(draft: Draft): Gap | null {
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

export type Gap =
  | 'prompt_missing'
  | 'prompt_long'
  | 'file_refused'
  | 'uploading'
  | 'frame_missing'
  | 'reference_missing'
  | 'audio_alone'

/** A draft as text, with the files that are stored. */
export function writeDraft(draft: Draft): string {
  const files = Object.fromEntries(
    SLOTS.map((slot) => [
      slot,
      draft.files[slot].filter(isReady).map(({ file_id, filename, bytes }) => ({ id: file_id, filename, bytes })),
    ]),
  )
  return JSON.stringify({ ...draft, files })
}

/** Reads what `writeDraft` wrote; null for anything else. */
export function readDraft(text: string | null): Draft | null {
  try {
    const kept = JSON.parse(text ?? '')
    const blank = emptyDraft()
    const draft = {
      prompt: typeof kept.prompt === 'string' ? kept.prompt : blank.prompt,
      model: typeof kept.model === 'string' ? kept.model : null,
      seconds: clampSeconds(kept.seconds) ?? blank.seconds,
      aspect_ratio: ASPECT_RATIOS.find((ratio) => ratio === kept.aspect_ratio) ?? blank.aspect_ratio,
      mode: MODES.find((mode) => mode === kept.mode) ?? blank.mode,
      files: blank.files as Draft['files'],
    }
    for (const slot of SLOTS) draft.files[slot] = readFiles(kept.files?.[slot]).slice(0, RULES[slot].count_max)
    return draft
  } catch {
    return null
  }
}

function readFiles(kept: unknown): Attachment[] {
  if (!Array.isArray(kept)) return []
  const sound = kept.filter(
    ({ id, filename, bytes }) => typeof id === 'string' && typeof filename === 'string' && bytes > 0,
  )
  return sound.map(storedAttachment)
}

/** A whole number of seconds within the limits; null for what is no number. */
export function clampSeconds(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return null
  return Math.min(SECONDS.max, Math.max(SECONDS.min, Math.round(value)))
}

/** Puts the selection between dialogue tags, or takes them off again. Gives the text and what is selected then. */
export function toggleDialogue(text: string, from: number, to: number): { text: string; from: number; to: number } {
  const inside = text.slice(from, to)
  if (text.slice(from - OPEN.length, from) === OPEN && text.slice(to, to + CLOSE.length) === CLOSE) {
    const bare = text.slice(0, from - OPEN.length) + inside + text.slice(to + CLOSE.length)
    return { text: bare, from: from - OPEN.length, to: to - OPEN.length }
  }
  const wrapped = text.slice(0, from) + OPEN + inside + CLOSE + text.slice(to)
  return { text: wrapped, from: from + OPEN.length, to: to + OPEN.length }
}

/** What is spoken in a prompt, line by line. */
export function dialogueOf(prompt: string): string[] {
  const lines = [...prompt.matchAll(/<d>([\s\S]*?)<\/d>/g)].map(([, line]) => line!.trim())
  return lines.filter((line) => line !== '')
}

const NOT_TRANSLATED = /<d>[\s\S]*?<\/d>|「[^」]*」|『[^』]*』|“[^”]*”|"[^"]*"/g

/** Whether the service would have it translated, more or less as it counts: docs/engines.md, Translation. */
export function looksJapanese(prompt: string): boolean {
  const sentences = prompt.replaceAll(NOT_TRANSLATED, ' ').split(/[\n。．.！!？?]/)
  return sentences.some((sentence) => {
    const letters = sentence.match(/\p{L}/gu) ?? []
    const japanese = letters.filter((letter) => /[\p{scx=Hira}\p{scx=Kana}\p{scx=Hani}]/u.test(letter))
    return /[\p{scx=Hira}\p{scx=Kana}]/u.test(sentence) && japanese.length >= 0.3 * letters.length
  })
}

/** A prompt as people read it: dialogue in quotation marks. */
export function readablePrompt(prompt: string): string {
  return prompt.replaceAll(/<d>([\s\S]*?)<\/d>/g, '“$1”')
}

const OPEN = '<d>'
const CLOSE = '</d>'
