import Type, { type Static } from 'typebox'

/** Wire shapes of the parts of messages. */
const Url = Type.String({ minLength: 1 })

export const TextPartSchema = Type.Object({ type: Type.Literal('text'), text: Type.String() })
/** The address alone is taken for the object that holds it: many clients send it so. */
const MediaUrl = Type.Union([Type.Object({ url: Url }), Url])
const Detail = Type.Enum(['auto', 'low', 'high', 'original'])
export const UserPart = Type.Union([
  TextPartSchema,
  Type.Object({
    type: Type.Literal('image_url'),
    image_url: Type.Union([Type.Object({ url: Url, detail: Type.Optional(Detail) }), Url]),
  }),
  Type.Object({ type: Type.Literal('video_url'), video_url: MediaUrl }),
  Type.Object({ type: Type.Literal('audio_url'), audio_url: MediaUrl }),
  Type.Object({
    type: Type.Literal('input_audio'),
    input_audio: Type.Object({
      data: Type.String({ minLength: 1 }),
      format: Type.Optional(Type.String({ description: 'Ignored: we detect the format from the bytes.' })),
    }),
  }),
  Type.Object({
    type: Type.Literal('file'),
    file: Type.Object({
      file_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      filename: Type.Optional(Type.String({ maxLength: 255 })),
      file_data: Type.Optional(Type.String({ minLength: 1 })),
    }),
  }),
])
export type BodyPart = Static<typeof UserPart>

/** Reasoning, and calls that are in `tool_calls`, too, as clients of other services keep them. They are left out. */
const LeftOut = (['thinking', 'redacted_thinking', 'reasoning', 'tool_use'] as const).map((type) =>
  Type.Object({ type: Type.Literal(type) }),
)
export const AssistantPart = Type.Union([
  TextPartSchema,
  Type.Object({ type: Type.Literal('output_text'), text: Type.String() }),
  Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() }),
  ...LeftOut,
])
