import type { Failure } from '../../api/failure.ts'
import { randomId } from '../../api/random-id.ts'

export type AttachmentKind = 'image' | 'video' | 'audio' | 'pdf' | 'text'

/** A file sent with a message: a small image inline, everything else uploaded and referenced. */
export type Attachment = {
  id: string
  kind: AttachmentKind
  name: string
  size_bytes: number
  source: { from: 'data'; url: string } | { from: 'file'; file_id: string }
}

/** A file that is being uploaded to become an attachment. */
export type PendingAttachment = Omit<Attachment, 'source'> & { share: number; failure: Failure | null }

export type ToolCall = {
  id: string
  name: string
  arguments: string
  /** The result that the person entered; null while it is missing. */
  result: string | null
}

/** Tokens as they are billed: cached input is part of the input, reasoning part of the output. */
export type Tokens = { input: number; cached_input: number; output: number; reasoning: number }

export type UserMessage = { id: string; role: 'user'; text: string; attachments: Attachment[] }

export type AssistantMessage = {
  id: string
  role: 'assistant'
  model: string
  text: string
  reasoning: string
  /** How long reasoning streamed, as measured here; null when there was none, or it arrived at once. */
  reasoning_ms: number | null
  refusal: string
  tool_calls: ToolCall[]
  status: 'streaming' | 'done' | 'stopped' | 'failed'
  finish_reason: string | null
  failure: Pick<Failure, 'status' | 'code' | 'param' | 'request_id'> | null
  request_id: string | null
  tokens: Tokens | null
  /** Decimal string; null while it is not known. */
  cost: string | null
}

export type Message = UserMessage | AssistantMessage

export type ResponseFormat = 'text' | 'json_object' | 'json_schema'

/** As typed. Empty texts are not sent: the model's default applies. */
export type Settings = {
  model: string | null
  system: string
  temperature: string
  top_p: string
  max_tokens: string
  stop: string
  seed: string
  reasoning_effort: string
  response_format: ResponseFormat
  schema_name: string
  schema: string
  tools: string
}

export type Conversation = {
  settings: Settings
  messages: readonly Message[]
  draft: { text: string; attachments: readonly Attachment[] }
  /** Total cost, including answers that were replaced or deleted; decimal string. */
  spent: string
}

export const NEW_SETTINGS: Settings = {
  ...{ model: null, system: '', temperature: '', top_p: '', max_tokens: '', stop: '', seed: '', reasoning_effort: '' },
  ...{ response_format: 'text', schema_name: 'answer', schema: '', tools: '' },
}

export const NEW_CONVERSATION: Conversation = {
  settings: NEW_SETTINGS,
  messages: [],
  draft: { text: '', attachments: [] },
  spent: '0.00000000',
}

export function newAnswer(model: string): AssistantMessage {
  return {
    ...{ id: newMessageId(), role: 'assistant', model, text: '', reasoning: '', reasoning_ms: null, refusal: '' },
    ...{ tool_calls: [], status: 'streaming', finish_reason: null, failure: null },
    ...{ request_id: null, tokens: null, cost: null },
  }
}

export function newMessageId(): string {
  return randomId(8)
}

/** The tool calls whose results the model waits for. */
export function openCalls(messages: readonly Message[]): ToolCall[] {
  const last = messages.at(-1)
  return last?.role === 'assistant' ? last.tool_calls.filter(({ result }) => result === null) : []
}

/** Whether the answer has any content to show or send back. */
export function hasContent({ text, refusal, tool_calls }: AssistantMessage): boolean {
  return text !== '' || refusal !== '' || tool_calls.length > 0
}
