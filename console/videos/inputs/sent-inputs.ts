import type { Draft, VideoRequest } from '../studio/draft.ts'
import { type KnownFile, SLOTS, type Slot } from './attachments.ts'

/** The files of a request, by place: the API does not tell them with the job, so that they are kept where it was sent from. */
export type SentInputs = { files: Partial<Record<Slot, KnownFile[]>> }

const KEY = 'kinora.video-inputs'
/** Requests that are remembered, newest first. */
const KEPT_MAX = 300

type Kept = Array<[id: string, inputs: SentInputs]>

/** Remembers what a job was sent with. */
export function keepInputs(id: string, body: VideoRequest, draft: Draft): void {
  const files: SentInputs['files'] = {}
  for (const slot of SLOTS) {
    const sent = idsOf(body, slot)
    const known = draft.files[slot].filter(({ file_id }) => file_id !== null && sent.includes(file_id))
    if (known.length > 0) files[slot] = known.map(({ file_id, filename, bytes }) => ({ id: file_id!, filename, bytes }))
  }
  try {
    const others = readKept().filter(([each]) => each !== id)
    localStorage.setItem(KEY, JSON.stringify([[id, { files }], ...others].slice(0, KEPT_MAX)))
  } catch {
    // Full or closed: the files of this request cannot be taken over later.
  }
}

/** What a job was sent with; null when it was sent from elsewhere. */
export function readInputs(id: string): SentInputs | null {
  return readKept().find(([each]) => each === id)?.[1] ?? null
}

function readKept(): Kept {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(kept) ? (kept as Kept) : []
  } catch {
    return []
  }
}

function idsOf(body: VideoRequest, slot: Slot): string[] {
  if (slot === 'first_frame' || slot === 'last_frame')
    return (body.image_reference ?? []).filter(({ role }) => role === slot).map(({ file_id }) => file_id)
  return (body.references?.[slot] ?? []).map(({ file_id }) => file_id)
}
