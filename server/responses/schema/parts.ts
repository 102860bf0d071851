import Type, { type Static } from 'typebox'
import { LENGTHS_MAX } from '../../chat/schema.ts'

/** Pieces of content in the items of the Responses API, as they are sent and as they are stored and returned. */

/** `text`, `input_text` and `output_text` are accepted for each other in any role. */
const text = Type.String()
const Detail = Type.Enum(['auto', 'low', 'high', 'original'])
const FileId = Type.String({ minLength: 1, maxLength: 64 })
const Filename = Type.String({ maxLength: 255 })
const Reference = Type.String({ minLength: 1 })

export const SentInputText = Type.Object({ type: Type.Literal('input_text'), text })
export const SentText = Type.Object({ type: Type.Literal('text'), text })
export const SentOutputText = Type.Object({
  type: Type.Literal('output_text'),
  text,
  annotations: Type.Optional(Type.Array(Type.Unknown(), { maxItems: LENGTHS_MAX.parts })),
})
export const SentRefusal = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() })
/** Only another service can read it. */
export const SentEncrypted = Type.Object({ type: Type.Literal('encrypted_content') })
export const SentImage = Type.Object({
  type: Type.Literal('input_image'),
  image_url: Type.Optional(Type.Union([Reference, Type.Object({ url: Reference, detail: Type.Optional(Detail) })])),
  file_id: Type.Optional(FileId),
  detail: Type.Optional(Detail),
})
export const SentFile = Type.Object({
  type: Type.Literal('input_file'),
  file_id: Type.Optional(FileId),
  file_url: Type.Optional(Reference),
  file_data: Type.Optional(Reference),
  filename: Type.Optional(Filename),
  detail: Type.Optional(Type.String()),
})

export const InputText = Type.Object({ type: Type.Literal('input_text'), text })
export type InputText = Static<typeof InputText>

export const InputImage = Type.Object({
  type: Type.Literal('input_image'),
  image_url: Type.Optional(Type.String()),
  file_id: Type.Optional(Type.String()),
  detail: Detail,
})
export type InputImage = Static<typeof InputImage>

export const InputFile = Type.Object({
  type: Type.Literal('input_file'),
  file_id: Type.Optional(Type.String()),
  file_url: Type.Optional(Type.String()),
  file_data: Type.Optional(Type.String()),
  filename: Type.Optional(Type.String()),
})
export type InputFile = Static<typeof InputFile>

const Logprob = Type.Object({ token: Type.String(), logprob: Type.Number(), bytes: Type.Array(Type.Integer()) })
/** With bytes in any case, as the SDKs expect them: none where the engine did not say. */
export const TokenLogprobView = Type.Object({ ...Logprob.properties, top_logprobs: Type.Array(Logprob) })
export type TokenLogprobView = Static<typeof TokenLogprobView>

export const OutputText = Type.Object({
  type: Type.Literal('output_text'),
  text,
  annotations: Type.Array(Type.Unknown()),
  logprobs: Type.Array(TokenLogprobView),
})
export type OutputText = Static<typeof OutputText>

export const Refusal = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() })
export type Refusal = Static<typeof Refusal>

export const SummaryText = Type.Object({ type: Type.Literal('summary_text'), text })
export type SummaryText = Static<typeof SummaryText>

export const ReasoningText = Type.Object({ type: Type.Literal('reasoning_text'), text })
export type ReasoningText = Static<typeof ReasoningText>

/** Any part of a message. */
export type MessagePart = InputText | InputImage | InputFile | OutputText | Refusal
/** What the output of a call may hold. */
export type ToolOutputPart = InputText | InputImage | InputFile
