import type { ChatModel } from '../../api/chat-models.ts'
import { type Failure, failureOf, newFailure, noAnswer } from '../../api/failure.ts'
import { streamEvents } from '../../api/sse.ts'
import { applyChunk, type Chunk } from './apply-chunk.ts'
import { type AssistantMessage, newAnswer } from './conversation.ts'
import { addMoney, costOf } from './cost.ts'
import { findCharge } from './find-charge.ts'
import { changeMessage, type OpenConversation } from './open-conversation.ts'
import { bodyOf } from './request-body.ts'

/**
 * Asks the model for the next message of the conversation and writes it into the conversation as it arrives, once a frame.
 * Resolves when the answer has ended, however it did; `onCharged` is called once its cost is known.
 */
export async function answer(conversation: OpenConversation, model: ChatModel, onCharged: () => void): Promise<void> {
  if (conversation.answering) return
  const controller = new AbortController()
  const leaving = watchLeaving()
  conversation.answering = controller
  const body = bodyOf(conversation.read(), model)
  const draft = newAnswer(model.id)
  const show = shower(conversation, draft)
  conversation.change((now) => ({ ...now, messages: [...now.messages, { ...draft }] }))
  try {
    await receive(draft, body, controller.signal, show.soon)
    finish(draft, controller.signal.aborted)
  } catch (error) {
    if (controller.signal.aborted || leaving.seen()) finish(draft, true)
    else Object.assign(draft, { status: 'failed', failure: kept(failureOf(error)), tool_calls: [] })
  }
  leaving.end()
  conversation.answering = null
  if (draft.tokens) draft.cost = costOf(draft.tokens, model.pricing)
  show.now()
  await settle(conversation, draft, onCharged)
}

/** Looks up what an answer cost that did not reach its end, also one that was stopped by closing the page. */
export async function settle(
  conversation: OpenConversation,
  { id, cost, tokens, request_id }: AssistantMessage,
  onCharged: () => void,
): Promise<void> {
  if (settling.has(id) || (cost === null && request_id === null)) return
  settling.add(id)
  const charge = cost === null ? await findCharge(request_id!) : { cost, tokens }
  settling.delete(id)
  if (charge === null) return changeMessage<AssistantMessage>(conversation, id, { request_id: null })
  if (cost === null) changeMessage<AssistantMessage>(conversation, id, charge)
  conversation.change((now) => ({ ...now, spent: addMoney(now.spent, charge.cost) }))
  onCharged()
}

/** Answers whose charge is being looked up, by the id of their message. */
const settling = new Set<string>()

async function receive(draft: AssistantMessage, body: object, signal: AbortSignal, show: () => void): Promise<void> {
  const onOpen = ({ headers }: Response) => {
    draft.request_id = headers.get('x-request-id')
  }
  let since: number | null = null
  let thinking = true
  for await (const { data } of streamEvents('/v1/chat/completions', body, signal, onOpen)) {
    const chunk = JSON.parse(data) as Chunk
    if (chunk.error) {
      const { code, type, param } = chunk.error
      throw newFailure(502, code, { type, param, request_id: draft.request_id })
    }
    applyChunk(draft, chunk)
    if (draft.reasoning !== '') since ??= performance.now()
    if (since !== null && thinking) draft.reasoning_ms = Math.round(performance.now() - since)
    thinking = draft.text === '' && draft.refusal === '' && draft.tool_calls.length === 0
    show()
  }
  if (draft.finish_reason === null && !signal.aborted) throw noAnswer()
}

/** A page that goes away cuts the connection first: that is a stop, not a failure. It may yet stay, as for a download. */
function watchLeaving() {
  let left_at = -Infinity
  const onLeave = () => {
    left_at = performance.now()
  }
  window.addEventListener('beforeunload', onLeave)
  return {
    seen: () => performance.now() - left_at < LEAVING_MS,
    end: () => window.removeEventListener('beforeunload', onLeave),
  }
}

const LEAVING_MS = 3000

/** Calls of tools that were cut off are no calls. */
function finish(draft: AssistantMessage, stopped: boolean): void {
  draft.status = stopped && draft.finish_reason === null ? 'stopped' : 'done'
  if (draft.finish_reason !== 'tool_calls') draft.tool_calls = []
}

/** Puts the draft into the conversation: at most once a frame, or at once. */
function shower(conversation: OpenConversation, draft: AssistantMessage) {
  let frame = 0
  const now = () => {
    cancelAnimationFrame(frame)
    frame = 0
    changeMessage<AssistantMessage>(conversation, draft.id, { ...draft, tool_calls: [...draft.tool_calls] })
  }
  return {
    now,
    soon() {
      frame ||= requestAnimationFrame(now)
    },
  }
}

function kept({ status, code, param, request_id }: Failure): AssistantMessage['failure'] {
  return { status, code, param, request_id }
}
