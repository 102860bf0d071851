import type { EngineReply } from '../../../platform/outbound/client.ts'
import { retryAfterSeconds } from '../../../platform/outbound/retry-after.ts'
import { EngineError } from '../../engine-error.ts'
import { unreadableReply } from '../../reply-error.ts'
import type { RenderRequest, RenderState } from '../contract.ts'
import { isBlocked } from './blocked.ts'
import { findVideoUrl } from './clip-url.ts'
import { complaintIn, failureError, meaningOf, meansGone, type ProtocolWords, refusalError } from './complaint.ts'
import { type RenderStage, renderStageOf } from './stage.ts'
import { isStamped, listIn, memberOf, progressIn, type ReplyView, secondsIn, viewOf } from './view.ts'

/** `queued`: the engine has not begun to work on it. */
type ReadState = RenderState & { queued?: true }

/**
 * The id of the render in the reply to a start, as text. Throws EngineError: a refusal inside a reply of status 200 is a refusal, and a
 * reply without an id or an error leaves open what was begun.
 */
export function readStart(reply: EngineReply, words: ProtocolWords): string {
  const view = accepted(reply, words)
  if (view.id !== null) return view.id
  if (['moderation', 'busy'].includes(meaningOf(complaintIn(view), words) ?? '')) throw refusalError(reply, view, words)
  throw unreadableReply('it has no usable id')
}

/**
 * The view in a reply that does not refuse. Throws EngineError. An error beside the state of a render is that render's: only its next poll
 * shows what became of it.
 */
export function accepted(reply: EngineReply, words: ProtocolWords): ReplyView {
  const view = viewOf(reply.json)
  if (!isSuccess(reply)) throw refusalError(reply, view, words)
  const stage = view.status === null ? null : renderStageOf(view.status)
  const hasFailed = stage === 'failed' || stage === 'blocked' || stage === 'gone'
  const isAboutRender = view.status !== null && (!hasFailed || view.has_own_id)
  if (!isAboutRender && (hasFailed || complaintIn(view).is_error)) throw refusalError(reply, view, words)
  return view
}

/**
 * Cancels a start that the engine shortens, and throws EngineError `rejected`: the reply gives a length under 80 % of the one asked for, which
 * would fail the job after the render. Source: docs/states.md.
 */
export async function refuseShortened(
  json: unknown,
  { seconds }: Pick<RenderRequest, 'seconds'>,
  cancel: () => Promise<unknown>,
): Promise<void> {
  const given = secondsIn(viewOf(json))
  if (given === undefined || given >= seconds * LENGTH_MIN) return
  await cancel().catch(() => {})
  const details = { engine_code: 'shortened', not_begun: false }
  throw new EngineError('rejected', `The engine renders ${given} of ${seconds} seconds.`, details)
}

const LENGTH_MIN = 0.8

/** As `readState`, for the host. */
export function readPoll(reply: EngineReply, words: ProtocolWords, options?: { url_needed?: boolean }): RenderState {
  const { queued: _, ...state } = readState(reply, words, options)
  return state
}

/**
 * The state of a render in the reply to a poll. Where its word is not known, a clip, a time of completion or an error decides; else it runs.
 * `url_needed`: the clip can only be fetched from a URL of the reply, so that an end without one is a failure. Throws EngineError when
 * nothing is known about the render.
 */
export function readState(reply: EngineReply, words: ProtocolWords, { url_needed = false } = {}): ReadState {
  const view = viewOf(reply.json)
  const isRender = isSuccess(reply) && view.status !== null && view.has_own_id
  if (!isRender && meansGone(reply, view)) return { state: 'lost' }
  if (!isSuccess(reply)) return failedOrThrow(refusalError(reply, view, words), ['moderation'])
  if (view.layers.length === 0) throw unreadableReply('it is not a JSON object')
  const stage = view.status === null ? null : renderStageOf(view.status)
  if (stage === 'queued' || stage === 'running') return running(reply, view, stage === 'queued')
  const url = clipUrl(view, stage)
  if (stage === 'blocked' || isBlocked(view.json, { has_clip: url !== null })) return failed(moderationError(view))
  if (stage === 'gone') return { state: 'lost' }
  if (stage === 'ended') return ended(view, words)
  if (stage === 'failed') return failed(failureError(view, words))
  const complaint = complaintIn(view)
  const isBare = view.status === null && !view.has_own_id
  if (isBare && complaint.is_error && url === null)
    return failedOrThrow(refusalError(reply, view, words), ['moderation', 'rejected'])
  if (complaint.has_error && (url === null || meaningOf(complaint, words) === 'moderation'))
    return failed(failureError(view, words))
  if (url !== null) return { state: 'succeeded', output: { url } }
  if (stage === 'done' || isStamped(view)) return url_needed ? failed(noVideo()) : { state: 'succeeded', output: {} }
  if (view.status === null && view.id === null) throw unreadableReply('it has no status')
  return running(reply, view, false)
}

/** The URL of the clip in a view. Before its end it may be that of the view itself. */
function clipUrl({ json, id }: ReplyView, stage: RenderStage | null): string | null {
  const url = findVideoUrl(json, { named: true })
  const isOwn = stage === null && id !== null && url?.split(/[?#]/)[0]?.endsWith(`/${id}`)
  return isOwn ? null : url
}

/** What became of asking the engine to stop: `stopped`, `gone` when it knows no such render, else why it does not. */
export function readCancelReply(reply: EngineReply, words: ProtocolWords): 'stopped' | 'gone' | EngineError {
  const view = viewOf(reply.json)
  if (meansGone(reply, view)) return 'gone'
  if (!isSuccess(reply) || (view.status === null && complaintIn(view).is_error)) return refusalError(reply, view, words)
  return memberOf(view, ['deleted', 'cancelled', 'canceled']) === false
    ? new EngineError('rejected', 'The engine does not stop the render.')
    : 'stopped'
}

/** The renders on a page of the engine's list, null when it is none. Throws EngineError. */
export function readList(reply: EngineReply, words: ProtocolWords) {
  const view = accepted(reply, words)
  return { items: listIn(view), total: memberOf(view, ['total']), has_more: memberOf(view, ['hasmore']) }
}

/** The error of a render that the engine's content filter blocked without an error. */
export function moderationError({ status }: ReplyView): EngineError {
  const word = printableWord(status ?? '')
  const isUsual = ['queued', 'running', 'done', null].includes(renderStageOf(word))
  return new EngineError('moderation', "The engine's content filter blocked the clip.", {
    engine_code: /^[\w.:-]+$/.test(word) && !isUsual ? word : undefined,
  })
}

/** The error of a result that came without a clip. */
export function noVideo(): EngineError {
  return new EngineError('permanent', 'The result holds no video.', { engine_code: 'no_video' })
}

function isSuccess({ status }: EngineReply): boolean {
  return status >= 200 && status <= 299
}

function running(reply: EngineReply, view: ReplyView, queued: boolean): ReadState {
  const progress = progressIn(view)
  const wait = retryAfterSeconds(reply.headers)
  const unknown = view.status !== null && renderStageOf(view.status) === null ? printableWord(view.status) : ''
  return {
    state: 'running',
    ...(progress === undefined ? {} : { progress }),
    ...(wait === undefined ? {} : { next_poll_seconds: Math.max(1, wait) }),
    ...(unknown === '' ? {} : { unknown_status: unknown }),
    ...(queued ? { queued: true as const } : {}),
  }
}

function ended(view: ReplyView, words: ProtocolWords): ReadState {
  if (meaningOf(complaintIn(view), words) === 'moderation') return failed(failureError(view, words))
  const engine_code = printableWord(view.status ?? '').toLowerCase()
  return failed(new EngineError('transient', 'The engine ended the render.', { engine_code }))
}

function failed(error: EngineError): ReadState {
  return { state: 'failed', error }
}

function failedOrThrow(error: EngineError, kinds: ReadonlyArray<EngineError['kind']>): ReadState {
  if (kinds.includes(error.kind)) return failed(error)
  throw error
}

/** Engines choose their words, so only letters, digits and a few signs of them are kept. */
function printableWord(word: string): string {
  return word.replaceAll(/[^\p{L}\p{N} _.:-]/gu, '').slice(0, 64)
}
