import Type, { type Static } from 'typebox'
import { LENGTHS_MAX } from '../../chat/schema.ts'

/** Tools and the choice among them, as they are sent and as a response echoes them. */
const JsonSchemaObject = Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true }))
const Name = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })
/** Joined and shortened before they are forwarded, so that model servers do not limit them. */
const LooseName = Type.String({ minLength: 1, maxLength: 256 })
/**
 * Most characters of texts that a response repeats in each event with the response object. `tools`: names and texts of all tools of a
 * request, and 8 for every value. Source: docs/api/responses.md, parameters.
 */
/** Of a request, with those that its context adds. */
export const TOOLS_MAX = 128

export const TEXTS_MAX = { instructions: 1_000_000, description: 65_536, tools: 4_194_304 } as const
const Description = Type.Optional(Type.String({ maxLength: TEXTS_MAX.description }))
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])

const functionTool = {
  type: Type.Literal('function'),
  description: Description,
  parameters: Type.Optional(JsonSchemaObject),
  strict: Type.Optional(Type.Boolean()),
}
const CustomFormat = Type.Union([
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({
    type: Type.Literal('grammar'),
    syntax: Type.Enum(['lark', 'regex']),
    definition: Type.String({ maxLength: TEXTS_MAX.description }),
  }),
])
const customTool = {
  type: Type.Literal('custom'),
  description: Description,
  format: Type.Optional(CustomFormat),
}

/** Tools that are forwarded, by type. */
export const SENT_TOOLS = {
  function: Type.Object({ ...functionTool, name: Name }),
  custom: Type.Object({ ...customTool, name: Name }),
  namespace: Type.Object({
    type: Type.Literal('namespace'),
    name: LooseName,
    description: Description,
    tools: Type.Array(
      Type.Union([Type.Object({ ...functionTool, name: LooseName }), Type.Object({ ...customTool, name: LooseName })]),
      { maxItems: TOOLS_MAX },
    ),
  }),
}
export type FunctionTool = Static<typeof SENT_TOOLS.function>
export type CustomTool = Static<typeof SENT_TOOLS.custom>
export type NamespaceTool = Static<typeof SENT_TOOLS.namespace>
/** A tool of a kind that is accepted and not forwarded. */
export type OtherTool = { type: string }

export type SentTool = FunctionTool | CustomTool | NamespaceTool | OtherTool
/** Any other type is accepted as well, and not forwarded. */
export const SentTool = Type.Unsafe<SentTool>(
  Type.Union([...Object.values(SENT_TOOLS), Type.Object({ type: Type.String() })]),
)

const Mode = Type.Enum(['none', 'auto', 'required'], { type: 'string' })
/** A tool by its kind; kinds that have names by their name. */
const NamedTool = Type.Object({
  type: Type.String(),
  name: Type.Optional(Type.String()),
  namespace: Type.Optional(Type.String()),
})
const AllowedTools = Type.Object({
  type: Type.Literal('allowed_tools'),
  mode: Type.Optional(Type.Enum(['auto', 'required'])),
  tools: Type.Array(NamedTool, { minItems: 1, maxItems: LENGTHS_MAX.tools }),
})
export type NamedTool = Static<typeof NamedTool>
export const SENT_CHOICES = { mode: Mode, allowed: AllowedTools, named: NamedTool }
export const SentToolChoice = Type.Union([Mode, AllowedTools, NamedTool])
export type SentToolChoice = Static<typeof SentToolChoice>

const EchoedFunction = Type.Object({
  type: Type.Literal('function'),
  name: Type.String(),
  description: nullable(Type.String()),
  parameters: nullable(JsonSchemaObject),
  strict: nullable(Type.Boolean()),
})
const EchoedCustom = Type.Object({
  type: Type.Literal('custom'),
  name: Type.String(),
  description: nullable(Type.String()),
  format: CustomFormat,
})
/** A tool that was forwarded, in the form it was sent, with null for what was left out. */
export const EchoedTool = Type.Union([
  EchoedFunction,
  EchoedCustom,
  Type.Object({
    type: Type.Literal('namespace'),
    name: Type.String(),
    description: nullable(Type.String()),
    tools: Type.Array(Type.Union([EchoedFunction, EchoedCustom])),
  }),
])
export type EchoedTool = Static<typeof EchoedTool>

export const ToolChoiceView = Type.Union([
  Mode,
  Type.Object({
    type: Type.Enum(['function', 'custom']),
    name: Type.String(),
    namespace: Type.Optional(Type.String()),
  }),
  Type.Object({
    type: Type.Literal('allowed_tools'),
    mode: Type.Enum(['auto', 'required']),
    tools: Type.Array(NamedTool),
  }),
])
export type ToolChoiceView = Static<typeof ToolChoiceView>
