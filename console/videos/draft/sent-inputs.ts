import { type KnownFile, SLOTS, type Slot } from './attachments.ts'
import type { Draft, VideoRequest } from './draft.ts'

/** The files of a request, by slot. The API does not return them with the job, so this browser stores those of its own requests. */
export type SentInputs = { files: Partial<Record<Slot, KnownFile[]>> }

const KEY = 'kinora.video-inputs'
/** Most requests stored; the oldest are dropped. */
const STORED_MAX = 300

type Stored = Array<[id: string, inputs: SentInputs]>

/** Stores what a job was submitted with. */
export function storeSentInputs(id: string, body: VideoRequest, draft: Draft): void {
  const files: SentInputs['files'] = {}
  for (const slot of SLOTS) {
    const sent = idsOf(body, slot)
    const known = draft.files[slot].filter(({ file_id }) => file_id !== null && sent.includes(file_id))
    if (known.length > 0) files[slot] = known.map(({ file_id, filename, bytes }) => ({ id: file_id!, filename, bytes }))
  }
  try {
    const others = readAll().filter(([each]) => each !== id)
    localStorage.setItem(KEY, JSON.stringify([[id, { files }], ...others].slice(0, STORED_MAX)))
  } catch {
    // Storage is full or unavailable: the files of this request cannot be reused later.
  }
}

/** What a job was submitted with; null when it was submitted elsewhere. */
export function readSentInputs(id: string): SentInputs | null {
  return readAll().find(([each]) => each === id)?.[1] ?? null
}

function readAll(): Stored {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(stored) ? (stored as Stored) : []
  } catch {
    return []
  }
}

function idsOf(body: VideoRequest, slot: Slot): string[] {
  if (slot === 'first_frame' || slot === 'last_frame')
    return (body.image_reference ?? []).filter(({ role }) => role === slot).map(({ file_id }) => file_id)
  return (body.references?.[slot] ?? []).map(({ file_id }) => file_id)
}
