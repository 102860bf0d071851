import { failureOf } from '../../api/failure.ts'
import { randomId } from '../../api/random-id.ts'
import { uploadFile } from '../../api/upload.ts'
import {
  durationOf,
  durationProblem,
  type KnownFile,
  type Problem,
  problemOf,
  RULES,
  type Slot,
  slotFor,
  storedAttachment,
} from './attachments.ts'
import { changeDraft, changeFile, changeFiles, readCurrentDraft } from './draft-store.ts'

const sending = new Map<string, AbortController>()
const previews = new Map<string, string>()
const sources = new Map<string, { file: File; slot: Slot }>()

/** The object URL of a file that was chosen in this tab; null for others. */
export function previewOf(key: string): string | null {
  return previews.get(key) ?? null
}

/** Checks files, adds them to a slot and uploads them. Returns how many did not fit. */
export function attachFiles(slot: Slot, files: readonly File[]): number {
  const { count_max } = RULES[slot]
  // A new frame replaces the old one.
  const room = count_max === 1 ? 1 : count_max - readCurrentDraft().files[slot].length
  const taken = files.slice(0, Math.max(0, room))
  const added = taken.map((file) => {
    const key = randomId()
    previews.set(key, URL.createObjectURL(file))
    sources.set(key, { file, slot })
    return { key, filename: file.name, bytes: file.size, file_id: null, share: null, problem: null }
  })
  if (count_max === 1 && added.length > 0) clearSlot(slot)
  changeFiles(slot, (known) => [...known, ...added])
  for (const { key } of added) void send(key)
  return files.length - taken.length
}

/** Adds files that are already uploaded to a slot, each once. Returns how many did not fit. */
export function attachStored(slot: Slot, files: readonly KnownFile[]): number {
  const { count_max } = RULES[slot]
  if (count_max === 1) clearSlot(slot)
  const known = readCurrentDraft().files[slot]
  const fresh = files.filter(({ id }) => !known.some(({ file_id }) => file_id === id))
  const taken = fresh.slice(0, Math.max(0, count_max - known.length))
  changeFiles(slot, (now) => [...now, ...taken.map(storedAttachment)])
  return fresh.length - taken.length
}

/** Adds files that were dropped or pasted anywhere to the slots that fit them. Returns how many were refused. */
export function attachAnywhere(files: readonly File[]): number {
  let refused = 0
  for (const file of files) {
    const slot = slotFor(file)
    if (slot === null) {
      refused += 1
      continue
    }
    if (slot !== 'images') changeDraft({ mode: 'references' })
    else if (readCurrentDraft().mode === 'text') changeDraft({ mode: 'frames' })
    const { mode, files: held } = readCurrentDraft()
    const frame = held.first_frame.length === 0 ? 'first_frame' : 'last_frame'
    refused += attachFiles(mode === 'frames' ? frame : slot, [file])
  }
  return refused
}

/** Removes a file from its slot and cancels its upload; a stored file is not deleted. */
export function detach(slot: Slot, key: string): void {
  forget(key)
  changeFiles(slot, (known) => known.filter((file) => file.key !== key))
}

/** Moves a file within its slot; a prompt may refer to files by their order. */
export function move(slot: Slot, from: number, to: number): void {
  changeFiles(slot, (known) => {
    const moved = known[from]
    if (!moved || to < 0 || to >= known.length) return known
    const others = known.filter((_, index) => index !== from)
    return [...others.slice(0, to), moved, ...others.slice(to)]
  })
}

export function swapFrames(): void {
  changeDraft(({ files }) => ({ files: { ...files, first_frame: files.last_frame, last_frame: files.first_frame } }))
}

/** Retries a failed upload. */
export function retryUpload(key: string): void {
  if (sources.has(key)) void send(key)
}

async function send(key: string): Promise<void> {
  const { file, slot } = sources.get(key)!
  const control = new AbortController()
  sending.set(key, control)
  const refuse = (problem: Problem) => changeFile(key, { problem, share: null })
  try {
    const found = await check(slot, file)
    if (control.signal.aborted) return
    if (found) return refuse(found)
    changeFile(key, { problem: null, share: 0 })
    const stored = await uploadFile(file, {
      purpose: RULES[slot].purpose,
      signal: control.signal,
      onProgress: (share) => changeFile(key, { share }),
    })
    sources.delete(key)
    changeFile(key, { file_id: stored.id, filename: stored.filename, share: 1 })
  } catch (error) {
    if (!control.signal.aborted) refuse({ code: 'upload', error: failureOf(error) })
  } finally {
    sending.delete(key)
  }
}

async function check(slot: Slot, file: File): Promise<Problem | null> {
  const problem = problemOf(slot, file)
  if (problem || RULES[slot].seconds === null) return problem
  return durationProblem(slot, await durationOf(file, slot === 'audio' ? 'audio' : 'video'))
}

function clearSlot(slot: Slot): void {
  for (const { key } of readCurrentDraft().files[slot]) forget(key)
  changeFiles(slot, () => [])
}

function forget(key: string): void {
  sending.get(key)?.abort()
  const preview = previews.get(key)
  if (preview) URL.revokeObjectURL(preview)
  previews.delete(key)
  sources.delete(key)
}
