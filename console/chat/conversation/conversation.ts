import type { ConversationSettings as StoredSettings, TurnView } from '../../../server/conversations/schema.ts'
import type { Failure } from '../../api/failure.ts'
import { randomId } from '../../api/random-id.ts'

export type AttachmentKind = 'image' | 'video' | 'audio' | 'pdf' | 'text'

/** A file sent with a message: a small image inline, everything else uploaded and referenced. */
export type Attachment = {
  id: string
  kind: AttachmentKind
  name: string
  /** Null once it was sent. */
  size_bytes: number | null
  source: { from: 'data'; url: string } | { from: 'file'; file_id: string }
}

/** A file that is being uploaded to become an attachment. */
export type PendingAttachment = Omit<Attachment, 'source'> & { share: number; failure: Failure | null }

export type ToolCall = { call_id: string; name: string; arguments: string }

/** Tokens as they are billed: cached input is part of the input, reasoning part of the output. */
export type Tokens = { input: number; cached_input: number; output: number; reasoning: number }

export type UserMessage = { id: string; role: 'user'; text: string; attachments: readonly Attachment[] }

/** The result of a tool call, as the person entered it. */
export type ToolMessage = { id: string; role: 'tool'; call_id: string; output: string }

export type AssistantMessage = {
  id: string
  role: 'assistant'
  model: string
  text: string
  reasoning: string
  /** How long reasoning streamed, as measured here; null when there was none, or it was not seen. */
  reasoning_ms: number | null
  refusal: string
  tool_calls: readonly ToolCall[]
  /** What it was as items of its response; null when it was edited or has not ended. */
  items: TurnView['output'] | null
  status: 'streaming' | 'done' | 'stopped' | 'failed'
  incomplete: 'max_output_tokens' | 'content_filter' | null
  failure: Pick<Failure, 'status' | 'code' | 'param' | 'request_id'> | null
  /** The stored response; null until there is one, and for what is only part of the input of another. */
  response_id: string | null
  tokens: Tokens | null
  /** Decimal string; null while nothing was charged. */
  cost: string | null
}

export type Message = UserMessage | ToolMessage | AssistantMessage

/** A stored response as messages: what it was asked with, then its answer. */
export type Turn = {
  id: string
  previous_response_id: string | null
  status: TurnView['status']
  cost: string | null
  messages: readonly Message[]
}

export function isUnfinished({ status }: Pick<Turn, 'status'>): boolean {
  return status === 'queued' || status === 'in_progress'
}

/** As typed. Empty texts are not sent: the model's default applies. */
export type Settings = StoredSettings

export type Conversation = {
  /** Null until the first message is sent. */
  id: string | null
  title: string
  settings: Settings
  /** Every version of every answer, in the order in which they were asked for. */
  turns: readonly Turn[]
  /** The response that ends the path that is shown; null for none. */
  leaf: string | null
  /** What is shown: the messages of a path through the turns, with what is not stored yet. */
  messages: readonly Message[]
  /** What is not stored in `messages`: changes that go with the next message, or a message that was not sent. */
  unsaved: 'edits' | 'message' | null
  draft: { text: string; attachments: readonly Attachment[] }
}

export const NEW_SETTINGS: Settings = {
  model: null,
  system: '',
  temperature: '',
  top_p: '',
  max_tokens: '',
  stop: '',
  seed: '',
  reasoning_effort: '',
  response_format: 'text',
  schema_name: 'answer',
  schema: '',
  tools: '',
}

export const NO_DRAFT: Conversation['draft'] = { text: '', attachments: [] }

export const NEW_CONVERSATION: Conversation = {
  ...{
    id: null,
    title: '',
    settings: NEW_SETTINGS,
    turns: [],
    leaf: null,
    messages: [],
    unsaved: null,
    draft: NO_DRAFT,
  },
}

export function newAnswer(model: string, id = newMessageId()): AssistantMessage {
  return {
    id,
    role: 'assistant',
    model,
    text: '',
    reasoning: '',
    reasoning_ms: null,
    refusal: '',
    tool_calls: [],
    ...{
      items: null,
      status: 'streaming',
      incomplete: null,
      failure: null,
      response_id: null,
      tokens: null,
      cost: null,
    },
  }
}

export function newMessageId(): string {
  return randomId(8)
}

/** The results of an answer's tool calls, which follow it, by call. */
export function resultsOf(messages: readonly Message[], answer: AssistantMessage): ReadonlyMap<string, string> {
  const calls = new Set(answer.tool_calls.map(({ call_id }) => call_id))
  const results = new Map<string, string>()
  for (const message of messages.slice(messages.indexOf(answer) + 1)) {
    if (message.role !== 'tool') break
    if (calls.has(message.call_id)) results.set(message.call_id, message.output)
  }
  return results
}

/** The tool calls whose results the model waits for. */
export function openCalls(messages: readonly Message[]): ToolCall[] {
  const answer = messages.findLast(({ role }) => role !== 'tool')
  if (answer?.role !== 'assistant' || answer.status !== 'done') return []
  const results = resultsOf(messages, answer)
  return answer.tool_calls.filter(({ call_id }) => !results.has(call_id))
}

/** Whether the answer has any content to show or send back. */
export function hasContent({ text, refusal, tool_calls }: AssistantMessage): boolean {
  return text !== '' || refusal !== '' || tool_calls.length > 0
}
