import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { reloadAcceptance } from '../../api/acceptance.ts'
import { type Failure, failureOf } from '../../api/failure.ts'
import { randomId } from '../../api/random-id.ts'
import { shownOrganization } from '../../api/session.ts'
import { useText } from '../../text/use-text.ts'
import { toast } from '../../ui/overlay/toast.ts'
import type { Slot } from '../draft/attachments.ts'
import { type Draft, originOf, type VideoRequest } from '../draft/draft.ts'
import { changeFile, endDraft, readCurrentDraft } from '../draft/draft-store.ts'
import { applyJobs } from '../jobs/job-cache.ts'
import { addPending, forgetPending } from '../jobs/pending.ts'
import { addWaiting, readWaiting, useAccount, type Waiting } from '../waiting/list.ts'
import { createClips, isTooMany, passes, sendAll } from '../waiting/send.ts'

export type Submission = {
  /** Sends a request for this many clips, `cost` each; does nothing while one is in flight. */
  submit(body: VideoRequest, clips: number, price: { cost: string; currency: string }): Promise<void>
  busy: boolean
  /** Why the last request was refused, until its draft changes. */
  failure: Failure | null
  /** How many were accepted and not announced otherwise, so that each can be. */
  accepted: number
}

/** `onSubmitted` says a text where what was submitted is out of sight, and returns whether it did. Submits requests so that each creates its clips once, however often it is clicked or retried, and shows them immediately. */
export function useSubmission(draft: Draft, onSubmitted: (text: string) => boolean): Submission {
  const t = useText('videos')
  const queries = useQueryClient()
  const account = useAccount()
  const [busy, setBusy] = useState(false)
  const [refused, setRefused] = useState<{ failure: Failure; draft: Draft } | null>(null)
  const [accepted, setAccepted] = useState(0)
  const inFlight = useRef(false)
  const submit: Submission['submit'] = async (body, count, { cost, currency }) => {
    if (inFlight.current) return
    inFlight.current = true
    setBusy(true)
    setRefused(null)
    const made_from = originOf(draft)
    const { key, sent_at_ms } = attemptFor([account, body, count, made_from])
    const pending = Array.from({ length: count }, (_, n) => `${key} ${n}`)
    const forgetAll = () => {
      for (const each of pending) forgetPending(queries, (pending) => pending.key === each)
    }
    const organization = shownOrganization(queries)
    const waitInstead = async (sent_at_ms: number | null) => {
      if (shownOrganization(queries) !== organization) return false
      if (!(await addWaiting(account, { key, request: body, count, made_from, sent_at_ms }))) return false
      forgetKey()
      endDraft(draft)
      if (!onSubmitted(t('waits', { count }))) toast(t('waits', { count }))
      return true
    }
    try {
      // Those that wait came first.
      if (readWaiting(account).some(({ refusal }) => refusal === null) && (await waitInstead(sent_at_ms)))
        return void sendAll(queries, account)
      for (const each of pending)
        addPending(queries, { key: each, request: body, cost, currency, at: Date.now() / 1000 })
      const jobs = await createClips({ key, request: body, count, made_from })
      forgetKey()
      if (shownOrganization(queries) !== organization) return
      endDraft(draft)
      forgetAll()
      applyJobs(queries, jobs)
      void queries.invalidateQueries({ queryKey: ['balance'] })
      if (!onSubmitted(t('submitted'))) setAccepted((count) => count + 1)
    } catch (caught) {
      const refusal = failureOf(caught)
      const fitsLater = refusal.code === 'concurrency_limit_exceeded' || isTooMany(refusal)
      if (fitsLater && (await waitInstead(null))) {
        forgetAll()
        // In parts, of which the first may have room now.
        return isTooMany(refusal) ? void sendAll(queries, account) : undefined
      }
      // The key is kept where an attempt may have created a job. A 429 or 401 says nothing about the attempts before it.
      if (refusal.status >= 400 && refusal.status < 500 && !passes(refusal)) forgetKey()
      if (shownOrganization(queries) !== organization) return
      forgetAll()
      if (refusal.code === 'agreement_required') void reloadAcceptance(queries)
      // When the session has ended, the 401 of this query leads to the sign-in page.
      if (refusal.code === 'insufficient_credits' || refusal.status === 401)
        void queries.invalidateQueries({ queryKey: ['balance'] })
      if (refusal.code === 'model_not_found') void queries.invalidateQueries({ queryKey: ['video-models'] })
      markRefusedFile(refusal.param, body)
      setRefused({ failure: refusal, draft: readCurrentDraft() })
    } finally {
      inFlight.current = false
      setBusy(false)
    }
  }
  return { submit, busy, failure: refused?.draft === draft ? refused.failure : null, accepted }
}

/** Which field of the studio a refusal is about; null for none in particular. */
export function refusedField({
  code,
  param,
}: Failure): 'prompt' | 'model' | 'seconds' | 'aspect_ratio' | 'file' | 'files' | null {
  if (code === 'model_not_found') return 'model'
  const [root] = (param ?? '').split(/[.[]/)
  if (root === 'image_reference' || root === 'references') return param!.endsWith('file_id') ? 'file' : 'files'
  return root === 'prompt' || root === 'model' || root === 'seconds' || root === 'aspect_ratio' ? root : null
}

/** For a param such as `references.images[1].file_id`: marks that file as refused. */
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

const STORAGE_KEY = 'kinora.video-attempt'

/**
 * One idempotency key per account and request until it is answered: a retry after a lost response or a reload is the same request.
 * `sent_at_ms` is when an earlier attempt was sent; null for the first one.
 */
function attemptFor(attempt: readonly unknown[]): Pick<Waiting, 'key' | 'sent_at_ms'> {
  const text = JSON.stringify(attempt)
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? 'null')
    if (stored?.text === text) return stored
    const key = randomId()
    sessionStorage.setItem(STORAGE_KEY, JSON.stringify({ key, sent_at_ms: Date.now(), text }))
    return { key, sent_at_ms: null }
  } catch {
    return { key: randomId(), sent_at_ms: null }
  }
}

function forgetKey(): void {
  try {
    sessionStorage.removeItem(STORAGE_KEY)
  } catch {
    // Storage is unavailable: nothing was stored.
  }
}
