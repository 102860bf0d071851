import Type, { type Static } from 'typebox'
import { listQuery, listSchema } from '../platform/http/list.ts'
import { Item } from '../responses/schema/items.ts'
import { ResponseObject } from '../responses/schema/response.ts'

const Strict = <P extends Type.TProperties>(properties: P) => Type.Object(properties, { additionalProperties: false })
const Title = Type.String({ minLength: 1, maxLength: 200 })
const Typed = Type.String({ maxLength: 1000 })

/** As typed on the chat page. Empty texts are not sent to the model: its default applies. */
const ConversationSettings = Strict({
  model: Type.Union([Type.String({ maxLength: 256 }), Type.Null()]),
  system: Type.String({ maxLength: 100_000 }),
  temperature: Typed,
  top_p: Typed,
  max_tokens: Typed,
  stop: Typed,
  seed: Typed,
  reasoning_effort: Typed,
  response_format: Type.Enum(['text', 'json_object', 'json_schema']),
  schema_name: Typed,
  schema: Type.String({ maxLength: 100_000 }),
  tools: Type.String({ maxLength: 300_000 }),
})
export type ConversationSettings = Static<typeof ConversationSettings>

export const CreateConversation = Strict({ title: Title, settings: ConversationSettings })
export const UpdateConversation = Strict({
  title: Type.Optional(Title),
  pinned: Type.Optional(Type.Boolean()),
  settings: Type.Optional(ConversationSettings),
})
export type UpdateConversation = Static<typeof UpdateConversation>

const shown = {
  id: Type.String(),
  object: Type.Literal('conversation'),
  title: Type.String(),
  pinned: Type.Boolean(),
  created_at: Type.Integer(),
  used_at: Type.Integer({ description: 'When a message was last sent.' }),
  expires_at: Type.Integer({ description: 'When it is deleted, unless another message is sent.' }),
}
const ListedConversation = Type.Object(shown)
export type ListedConversation = Static<typeof ListedConversation>
export const ConversationView = Type.Object({ ...shown, settings: ConversationSettings })
export type ConversationView = Static<typeof ConversationView>
export const DeletedConversation = Type.Object({
  id: Type.String(),
  object: Type.Literal('conversation'),
  deleted: Type.Literal(true),
})

export const CONVERSATION_PAGE = { default: 50, max: 100 }
export const ConversationQuery = Type.Object({
  ...listQuery(CONVERSATION_PAGE),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'Only those with this text in their title or in what you wrote.' }),
  ),
})
export const ConversationList = listSchema(ListedConversation)

const Charge = Type.Object({
  amount: Type.String(),
  input_tokens: Type.Integer(),
  cached_input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  reasoning_tokens: Type.Integer(),
})

/** One question and its answer. */
const TurnView = Type.Object({
  id: Type.String({ description: 'The response.' }),
  object: Type.Literal('conversation.turn'),
  ...Type.Pick(ResponseObject, [
    ...(['created_at', 'model', 'status', 'previous_response_id', 'error', 'incomplete_details', 'output'] as const),
  ]).properties,
  input: Type.Array(Item),
  request_id: Type.String(),
  charge: Type.Union([Charge, Type.Null()], { description: 'Its entry in the ledger; null while there is none.' }),
})
export type TurnView = Static<typeof TurnView>
export const TurnQuery = Type.Object({ after: listQuery(CONVERSATION_PAGE).after })
export const TurnList = listSchema(TurnView)
