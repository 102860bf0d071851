import Type, { type Static } from 'typebox'
import { AnyObject, ExtraContentSchema, LENGTHS_MAX } from '../../chat/schema.ts'
import { CALL_ID_MAX } from '../../engines/chat/call-id.ts'
import {
  InputFile,
  InputImage,
  InputText,
  OutputText,
  ReasoningText,
  Refusal,
  SentEncrypted,
  SentFile,
  SentImage,
  SentInputText,
  SentOutputText,
  SentRefusal,
  SentText,
  SummaryText,
} from './parts.ts'
import { SentTool, TOOLS_MAX } from './tools.ts'

/** Items of the Responses API: as clients send them, and normalized as they are stored, counted and returned. */
const Id = Type.String({ minLength: 1, maxLength: 1024 })
/** An empty one is none. */
const SentId = Type.String({ maxLength: 1024 })
/** Of any length: the model chose it. */
const Name = Type.String({ minLength: 1 })
const Namespace = Type.String({ minLength: 1, maxLength: 256 })
export const ITEM_STATUSES = ['in_progress', 'completed', 'incomplete'] as const
const Status = Type.Enum([...ITEM_STATUSES])
export type ItemStatus = Static<typeof Status>
export const PHASES = ['commentary', 'final_answer'] as const
const Phase = Type.Enum([...PHASES])

const sent = { id: Type.Optional(SentId), status: Type.Optional(Status) }
const SentTexts = [SentInputText, SentText, SentOutputText] as const
const PARTS = { maxItems: LENGTHS_MAX.parts }
/** Of every message but the assistant's. */
const InputContent = Type.Union([Type.String(), Type.Array(Type.Union([...SentTexts, SentImage, SentFile]), PARTS)])
const message = { type: Type.Optional(Type.Literal('message')), ...sent, phase: Type.Optional(Phase) }

/** Messages by role. `type` may be missing. */
export const SENT_MESSAGES = {
  user: Type.Object({ ...message, role: Type.Literal('user'), content: InputContent }),
  assistant: Type.Object({
    ...message,
    role: Type.Literal('assistant'),
    content: Type.Optional(
      Type.Union([
        Type.String(),
        Type.Array(Type.Union([...SentTexts, SentRefusal, ReasoningText, SummaryText]), PARTS),
      ]),
    ),
  }),
  developer: Type.Object({ ...message, role: Type.Literal('developer'), content: InputContent }),
  system: Type.Object({ ...message, role: Type.Literal('system'), content: InputContent }),
}

const call_id = Type.String({ minLength: 1, maxLength: CALL_ID_MAX })
const sentCall = { ...sent, call_id, name: Name, extra_content: Type.Optional(ExtraContentSchema) }
const OutputParts = Type.Union([...SentTexts, SentImage, SentFile, SentEncrypted])
const sentOutput = {
  ...sent,
  call_id,
  output: Type.Optional(Type.Union([Type.String(), Type.Array(OutputParts, PARTS)])),
}

/** All other items by type. */
export const SENT_ITEMS = {
  function_call: Type.Object({
    type: Type.Literal('function_call'),
    ...sentCall,
    arguments: Type.Optional(Type.Union([Type.String(), AnyObject])),
    namespace: Type.Optional(Namespace),
  }),
  function_call_output: Type.Object({ type: Type.Literal('function_call_output'), ...sentOutput }),
  custom_tool_call: Type.Object({
    type: Type.Literal('custom_tool_call'),
    ...sentCall,
    input: Type.Optional(Type.String()),
    namespace: Type.Optional(Namespace),
  }),
  custom_tool_call_output: Type.Object({ type: Type.Literal('custom_tool_call_output'), ...sentOutput }),
  reasoning: Type.Object({
    type: Type.Literal('reasoning'),
    ...sent,
    summary: Type.Optional(Type.Array(SummaryText, PARTS)),
    content: Type.Optional(Type.Array(ReasoningText, PARTS)),
    encrypted_content: Type.Optional(Type.String()),
  }),
  compaction: Type.Object({
    type: Type.Literal('compaction'),
    id: Type.Optional(SentId),
    encrypted_content: Type.String({ minLength: 1 }),
  }),
  additional_tools: Type.Object({
    type: Type.Literal('additional_tools'),
    id: Type.Optional(SentId),
    tools: Type.Array(SentTool, { maxItems: TOOLS_MAX }),
  }),
  compaction_trigger: Type.Object({ type: Type.Literal('compaction_trigger') }),
  item_reference: Type.Object({ type: Type.Optional(Type.Literal('item_reference')), id: Id }),
}

/**
 * An item that is not sent to the model: its type, `of`, is one of another service. `call`: what an output of it would have as its `call_id`.
 */
export type SkippedItem = { type: 'skipped'; of: string; call?: string }

type StaticOf<S extends Record<string, Type.TSchema>> = { [N in keyof S]: Static<S[N]> }[keyof S]
export type SentMessage = StaticOf<typeof SENT_MESSAGES>

/** One item of `input` as it is sent, its shape checked. */
export type InputItem = SentMessage | StaticOf<typeof SENT_ITEMS>
export const InputItem = Type.Unsafe<InputItem>(
  Type.Union([...Object.values(SENT_MESSAGES), ...Object.values(SENT_ITEMS)]),
)

export const MessageItem = Type.Object({
  id: Id,
  type: Type.Literal('message'),
  status: Status,
  role: Type.Enum(['user', 'assistant', 'developer', 'system']),
  content: Type.Array(Type.Union([InputText, InputImage, InputFile, OutputText, Refusal])),
  phase: Type.Optional(Phase),
})
export type MessageItem = Static<typeof MessageItem>

/** A message of an answer. `phase` is absent when unknown, never null. */
export const OutputMessage = Type.Object({
  id: Id,
  type: Type.Literal('message'),
  status: Status,
  role: Type.Literal('assistant'),
  content: Type.Array(Type.Union([OutputText, Refusal])),
  phase: Type.Optional(Phase),
})
export type OutputMessage = Static<typeof OutputMessage>

/** A call or its output. */
const callItem = <T extends string, P extends Type.TProperties>(type: T, properties: P) =>
  Type.Object({ id: Id, type: Type.Literal(type), status: Status, call_id: Type.String(), ...properties })

export const FunctionCall = callItem('function_call', {
  name: Type.String(),
  arguments: Type.String(),
  namespace: Type.Optional(Type.String()),
  extra_content: Type.Optional(ExtraContentSchema),
})
export type FunctionCall = Static<typeof FunctionCall>

export const CustomToolCall = callItem('custom_tool_call', {
  name: Type.String(),
  input: Type.String(),
  namespace: Type.Optional(Type.String()),
  extra_content: Type.Optional(ExtraContentSchema),
})
export type CustomToolCall = Static<typeof CustomToolCall>

const ToolOutput = Type.Union([Type.String(), Type.Array(Type.Union([InputText, InputImage, InputFile]))])
const FunctionCallOutput = callItem('function_call_output', { output: ToolOutput })
const CustomToolCallOutput = callItem('custom_tool_call_output', { output: ToolOutput })

/** `encrypted_content` and `content` are absent, never null, unless asked for or switched on. */
export const Reasoning = Type.Object({
  id: Id,
  type: Type.Literal('reasoning'),
  status: Type.Optional(Status),
  summary: Type.Array(SummaryText),
  content: Type.Optional(Type.Array(ReasoningText)),
  encrypted_content: Type.Optional(Type.String()),
})
export type Reasoning = Static<typeof Reasoning>

export const Compaction = Type.Object({
  id: Id,
  type: Type.Literal('compaction'),
  encrypted_content: Type.String(),
})
export type Compaction = Static<typeof Compaction>

/** Tools beside those of the request, for it and all that continue it. */
export const AdditionalTools = Type.Object({
  id: Id,
  type: Type.Literal('additional_tools'),
  role: Type.Literal('developer'),
  tools: Type.Array(SentTool),
})

/** A normalized item: with type, id and full content parts. It is what is stored and what `input_items` returns. */
export const Item = Type.Union([
  MessageItem,
  FunctionCall,
  FunctionCallOutput,
  CustomToolCall,
  CustomToolCallOutput,
  Reasoning,
  Compaction,
  AdditionalTools,
])
export type Item = Static<typeof Item>

/** One item of an answer. */
export const OutputItem = Type.Union([OutputMessage, FunctionCall, CustomToolCall, Reasoning, Compaction])
export type OutputItem = Static<typeof OutputItem>

/** An item of an earlier response of the same person, by its id. */
export type ItemReference = { type: 'item_reference'; id: string }

/** An item with the path that errors name: `input[2]`, or `previous_response_id` for items of the history. */
export type InputEntry = { item: Item | ItemReference; path: string }
export type ContextItem = { item: Item; path: string }
