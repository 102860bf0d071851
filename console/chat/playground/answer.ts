import type { TurnView } from '../../../server/conversations/schema.ts'
import type { ChatModel } from '../../api/chat-models.ts'
import { type Failure, failureOf, isFailure } from '../../api/failure.ts'
import type { Page } from '../../api/queries.ts'
import { openRequest, request } from '../../api/request.ts'
import { type AssistantMessage, newAnswer } from '../conversation/conversation.ts'
import { type Answering, changeMessage, type OpenConversation } from '../conversation/open-conversation.ts'
import { storeConversation, synchronize } from '../conversation/synchronize.ts'
import { continuingBody } from '../request/body.ts'
import { applyEvent, type StreamEvent } from './apply-event.ts'
import { eventsOf } from './sse.ts'

/** What the page does meanwhile: once there is a stored conversation, and once an answer has ended. */
export type AnswerEvents = { onStored(id: string): void; onEnded(): void }

/**
 * Requests the next answer and writes it into the conversation as it streams, once per frame. The service makes it in the background: it goes
 * on when the page is closed. Resolves when the answer has ended, also by a failure.
 */
export async function answer(conversation: OpenConversation, model: ChatModel, events: AnswerEvents): Promise<void> {
  if (conversation.answering) return
  const draft = newAnswer(model.id)
  const now = conversation.read()
  const body = continuingBody(now, model)
  const isOurs = ({ id, previous_response_id }: TurnView) =>
    previous_response_id === (body.previous_response_id ?? null) && !now.turns.some((turn) => turn.id === id)
  const asked = { draft, after: now.turns.at(-1)?.id, isOurs }
  await receive(conversation, asked, events, async (signal) => {
    conversation.change(({ messages, ...rest }) => ({ ...rest, messages: [...messages, { ...draft }] }))
    const id = now.id ?? (await storeConversation(conversation))
    events.onStored(id)
    const more = { background: true, store: true, metadata: { conversation_id: id } }
    return openRequest('POST', '/v1/responses', { body: { ...body, ...more }, signal })
  })
}

/** Shows an answer that is being made already: it was asked for before a reload, or by another tab. */
export async function follow(conversation: OpenConversation, id: string, events: AnswerEvents): Promise<void> {
  const shown = conversation.read().messages.at(-1)
  if (conversation.answering || shown?.role !== 'assistant' || shown.response_id !== id) return
  const draft = { ...newAnswer(shown.model, shown.id), response_id: id }
  await receive(conversation, { draft, after: undefined, isOurs: () => false }, events, async () => null)
}

/** Stops the answer. The service charges what the model has produced. */
export function stop({ answering }: OpenConversation): void {
  if (!answering || answering.stopped) return
  answering.stopped = true
  if (answering.response_id !== null) cancel(answering.response_id)
}

function cancel(id: string): void {
  // One that has ended meanwhile cannot be cancelled: it is shown as it is.
  request('POST', `/v1/responses/${id}/cancel`).catch(() => {})
}

/** While the id of what was asked for is unknown here: which of the turns stored behind `after` it is. */
type Asked = { draft: AssistantMessage; after: string | undefined; isOurs: (turn: TurnView) => boolean }
type Open = (signal: AbortSignal) => Promise<Response | null>

async function receive(conversation: OpenConversation, asked: Asked, events: AnswerEvents, open: Open): Promise<void> {
  const { draft } = asked
  const answering: Answering = { reading: new AbortController(), response_id: draft.response_id, stopped: false }
  conversation.answering = answering
  const write = writer(conversation, draft)
  try {
    await readToEnd(conversation, { ...asked, answering }, open, write.soon)
    draft.status = 'done'
    // What cannot be read now is read when somebody looks at the page again.
    await synchronize(conversation, draft.response_id!).catch(() => write.now())
  } catch (error) {
    if (!answering.reading.signal.aborted)
      Object.assign(draft, { status: 'failed', failure: storable(failureOf(error)), tool_calls: [] })
  }
  conversation.answering = null
  write.end(draft.status === 'failed')
  events.onEnded()
}

/** Reads the events of a response to the last, over as many connections as that takes. */
async function readToEnd(
  conversation: OpenConversation,
  { draft, answering, ...asked }: Asked & { answering: Answering },
  open: Open,
  onChange: () => void,
): Promise<void> {
  const { signal } = answering.reading
  const measure = reasoningClock()
  let last = -1
  for (let attempt = 0; ; attempt++) {
    try {
      const opened = attempt === 0 ? await open(signal) : null
      const connection = opened ?? (await openRequest('GET', pathOf(draft.response_id!, last), { signal }))
      for await (const data of eventsOf(connection)) {
        const event = JSON.parse(data) as StreamEvent
        last = event.sequence_number
        const ended = applyEvent(draft, event)
        if (answering.response_id === null && draft.response_id !== null) onAccepted(conversation, answering, draft)
        measure(draft)
        conversation.seen.set(draft.response_id!, { key: draft.id, reasoning_ms: draft.reasoning_ms })
        onChange()
        if (ended) return
      }
    } catch (error) {
      if (signal.aborted || !isTemporary(error)) throw error
      draft.response_id ??= await findAccepted(conversation, asked, signal)
      if (draft.response_id === null) throw error
    }
    await pause(signal)
  }
}

/**
 * The id of the response that was asked for over a connection that was lost. The service may have accepted it all the same: sent again, it
 * would be paid for twice. Null once the service says that it has none, or cannot be asked for a while.
 */
async function findAccepted(
  { read }: OpenConversation,
  { after, isOurs }: Omit<Asked, 'draft'>,
  signal: AbortSignal,
): Promise<string | null> {
  for (let attempt = 0; attempt < ASK_MAX; attempt++) {
    await pause(signal)
    const { id } = read()
    if (id === null) return null
    try {
      const query = { after }
      const page = await request<Page<TurnView>>('GET', `/console/conversations/${id}/turns`, { query, signal })
      return page.data.findLast(isOurs)?.id ?? null
    } catch (error) {
      if (!isTemporary(error)) return null
    }
  }
  return null
}

async function pause(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS))
  signal.throwIfAborted()
}

/** From here on the answer is stored, with its question. */
function onAccepted(conversation: OpenConversation, answering: Answering, { response_id }: AssistantMessage): void {
  answering.response_id = response_id
  if (answering.stopped) cancel(response_id!)
  conversation.change((now) => ({ ...now, unsaved: null }))
}

/** After the connection was lost, or the service restarts. */
const RECONNECT_MS = 1000
/** How often it is asked whether a question was accepted, until it counts as lost. */
const ASK_MAX = 10

function isTemporary(error: unknown): boolean {
  return isFailure(error) && (error.status === 0 || error.status === 429 || error.status >= 500)
}

function pathOf(id: string, after: number): string {
  return `/v1/responses/${id}?stream=true${after < 0 ? '' : `&starting_after=${after}`}`
}

/** Measures how long an answer reasons before anything else of it comes. */
function reasoningClock(): (draft: AssistantMessage) => void {
  let since: number | null = null
  let reasoning = true
  return (draft) => {
    if (draft.reasoning !== '') since ??= performance.now()
    if (since !== null && reasoning) draft.reasoning_ms = Math.round(performance.now() - since)
    reasoning = draft.text === '' && draft.refusal === '' && draft.tool_calls.length === 0
  }
}

/** Writes the draft into the conversation: `soon` at most once per frame. */
function writer(conversation: OpenConversation, draft: AssistantMessage) {
  let frame = 0
  const now = () => {
    frame = 0
    changeMessage<AssistantMessage>(conversation, draft.id, { ...draft })
  }
  return {
    now,
    soon() {
      frame ||= requestAnimationFrame(now)
    },
    /** The stored answer has taken its place, unless it failed here. */
    end(failed: boolean) {
      cancelAnimationFrame(frame)
      if (failed) now()
      else conversation.change((each) => ({ ...each }))
    },
  }
}

function storable({ status, code, param, request_id }: Failure): AssistantMessage['failure'] {
  return { status, code, param, request_id }
}
