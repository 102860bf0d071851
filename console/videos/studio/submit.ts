import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { type Failure, failureOf } from '../../api/failure.ts'
import { randomKey } from '../../api/random-key.ts'
import { request } from '../../api/request.ts'
import { addPending, forgetPending } from '../gallery/pending.ts'
import type { Slot } from '../inputs/attachments.ts'
import { keepInputs } from '../inputs/sent-inputs.ts'
import { applyJob, reloadAcceptance, type VideoJob } from '../jobs.ts'
import type { Draft, VideoRequest } from './draft.ts'
import { changeFile, readCurrentDraft } from './draft-store.ts'

export type Submission = {
  /** Sends a request; while one is under way, nothing. */
  submit(body: VideoRequest, price: { cost: string; currency: string }): Promise<void>
  busy: boolean
  /** Why the last request was refused, until the draft it was made of changes. */
  failure: Failure | null
  /** Counts what was accepted, so that each can be told. */
  accepted: number
}

/** Sends requests so that each makes one job, however often it is pressed or sent again, and shows them at once. */
export function useSubmission(draft: Draft): Submission {
  const queries = useQueryClient()
  const [busy, setBusy] = useState(false)
  const [refused, setRefused] = useState<{ failure: Failure; draft: Draft } | null>(null)
  const [accepted, setAccepted] = useState(0)
  const underWay = useRef(false)
  const submit: Submission['submit'] = async (body, price) => {
    if (underWay.current) return
    underWay.current = true
    setBusy(true)
    setRefused(null)
    const key = keyFor(body)
    addPending(queries, { key, request: body, ...price, at: Date.now() / 1000 })
    try {
      const job = await request<VideoJob>('POST', '/v1/videos', { body, headers: { 'idempotency-key': key } })
      forgetKey()
      keepInputs(job.id, body, readCurrentDraft())
      forgetPending(queries, (pending) => pending.key === key)
      applyJob(queries, job)
      void queries.invalidateQueries({ queryKey: ['balance'] })
      setAccepted((count) => count + 1)
    } catch (caught) {
      forgetPending(queries, (pending) => pending.key === key)
      const refusal = failureOf(caught)
      // A refusal makes no job: only what may have made one is sent again under the same key.
      if (refusal.status >= 400 && refusal.status < 500 && refusal.status !== 408) forgetKey()
      if (refusal.code === 'agreement_required') void reloadAcceptance(queries)
      // With a session that is over, this is what leads to the sign-in page.
      if (refusal.code === 'insufficient_credits' || refusal.status === 401)
        void queries.invalidateQueries({ queryKey: ['balance'] })
      if (refusal.code === 'model_not_found') void queries.invalidateQueries({ queryKey: ['video-models'] })
      markRefusedFile(refusal.param, body)
      setRefused({ failure: refusal, draft: readCurrentDraft() })
    } finally {
      underWay.current = false
      setBusy(false)
    }
  }
  return { submit, busy, failure: refused?.draft === draft ? refused.failure : null, accepted }
}

/** Which part of the studio a refusal is about; null for the whole. */
export function placeOfRefusal({
  code,
  param,
}: Failure): 'prompt' | 'model' | 'seconds' | 'aspect_ratio' | 'file' | 'files' | null {
  if (code === 'model_not_found') return 'model'
  const [root] = (param ?? '').split(/[.[]/)
  if (root === 'image_reference' || root === 'references') return param!.endsWith('file_id') ? 'file' : 'files'
  return root === 'prompt' || root === 'model' || root === 'seconds' || root === 'aspect_ratio' ? root : null
}

/** `references.images[1].file_id`: the file itself says that it cannot be used. */
function markRefusedFile(param: string | null, body: VideoRequest): void {
  const [, frame, list, index] =
    /^(?:(image_reference)|references\.(images|videos|audio))\[(\d+)\]\.file_id$/.exec(param ?? '') ?? []
  if (index === undefined) return
  const at = Number(index)
  const slot: Slot | undefined = frame ? body.image_reference?.[at]?.role : (list as 'images' | 'videos' | 'audio')
  const id = frame ? body.image_reference?.[at]?.file_id : body.references?.[list as 'images']?.[at]?.file_id
  const file = slot && readCurrentDraft().files[slot].find(({ file_id }) => file_id === id)
  if (file) changeFile(file.key, { problem: { code: 'refused' } })
}

const ATTEMPT = 'kinora.video-attempt'

/** One key for one body, until it is answered: a request repeated after a lost answer, or a reload, is the same request. */
function keyFor(body: VideoRequest): string {
  const text = JSON.stringify(body)
  try {
    const kept = JSON.parse(sessionStorage.getItem(ATTEMPT) ?? 'null')
    if (kept?.text === text) return kept.key
    const key = randomKey()
    sessionStorage.setItem(ATTEMPT, JSON.stringify({ key, text }))
    return key
  } catch {
    return randomKey()
  }
}

function forgetKey(): void {
  try {
    sessionStorage.removeItem(ATTEMPT)
  } catch {
    // Nothing was kept.
  }
}
