import type { ChatModel } from '../../api/chat-models.ts'
import { type Failure, failureOf, newFailure, noAnswer } from '../../api/failure.ts'
import { type AssistantMessage, newAnswer } from '../conversation/conversation.ts'
import { changeMessage, type OpenConversation } from '../conversation/open-conversation.ts'
import { bodyOf } from '../request/body.ts'
import { applyChunk, type Chunk } from './apply-chunk.ts'
import { costOf, settle } from './charge.ts'
import { streamEvents } from './sse.ts'

/**
 * Requests the next message from the model and writes it into the conversation as it streams, once per frame. Resolves when the
 * answer has ended, also by a failure; `onCharged` is called once its cost is known.
 */
export async function answer(conversation: OpenConversation, model: ChatModel, onCharged: () => void): Promise<void> {
  if (conversation.answering) return
  const controller = new AbortController()
  const unload = watchUnload()
  conversation.answering = controller
  const body = bodyOf(conversation.read(), model)
  const draft = newAnswer(model.id)
  const write = writer(conversation, draft)
  conversation.change((now) => ({ ...now, messages: [...now.messages, { ...draft }] }))
  try {
    await receive(draft, body, controller.signal, write.soon)
    finish(draft, controller.signal.aborted)
  } catch (error) {
    if (controller.signal.aborted || unload.seen()) finish(draft, true)
    else Object.assign(draft, { status: 'failed', failure: storable(failureOf(error)), tool_calls: [] })
  }
  unload.end()
  conversation.answering = null
  if (draft.tokens) draft.cost = costOf(draft.tokens, model.pricing)
  write.now()
  await settle(conversation, draft, onCharged)
}

async function receive(
  draft: AssistantMessage,
  body: object,
  signal: AbortSignal,
  onChange: () => void,
): Promise<void> {
  const onOpen = ({ headers }: Response) => {
    draft.request_id = headers.get('x-request-id')
  }
  let since: number | null = null
  let reasoning = true
  for await (const { data } of streamEvents('/v1/chat/completions', body, signal, onOpen)) {
    const chunk = JSON.parse(data) as Chunk
    if (chunk.error) {
      const { code, type, param } = chunk.error
      throw newFailure(502, code, { type, param, request_id: draft.request_id })
    }
    applyChunk(draft, chunk)
    if (draft.reasoning !== '') since ??= performance.now()
    if (since !== null && reasoning) draft.reasoning_ms = Math.round(performance.now() - since)
    reasoning = draft.text === '' && draft.refusal === '' && draft.tool_calls.length === 0
    onChange()
  }
  if (draft.finish_reason === null && !signal.aborted) throw noAnswer()
}

/** Closing the page cuts the connection: the answer was stopped, it did not fail. The page may stay open, as for a download. */
function watchUnload() {
  let unload_at = -Infinity
  const onUnload = () => {
    unload_at = performance.now()
  }
  window.addEventListener('beforeunload', onUnload)
  return {
    seen: () => performance.now() - unload_at < UNLOAD_MS,
    end: () => window.removeEventListener('beforeunload', onUnload),
  }
}

const UNLOAD_MS = 3000

/** Ends the answer; tool calls that were cut off are dropped. */
function finish(draft: AssistantMessage, stopped: boolean): void {
  draft.status = stopped && draft.finish_reason === null ? 'stopped' : 'done'
  if (draft.finish_reason !== 'tool_calls') draft.tool_calls = []
}

/** Writes the draft into the conversation: `soon` at most once per frame, `now` immediately. */
function writer(conversation: OpenConversation, draft: AssistantMessage) {
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

function storable({ status, code, param, request_id }: Failure): AssistantMessage['failure'] {
  return { status, code, param, request_id }
}
