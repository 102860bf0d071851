import type { Static } from 'typebox'
import Type from 'typebox'
import type { ChatModelConfig } from '../platform/config.ts'

const MaybeInteger = Type.Union([Type.Integer(), Type.Null()])

export const ChatModelView = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
  name: Type.String(),
  description: Type.String(),
  context_length: MaybeInteger,
  max_output_tokens: MaybeInteger,
  capabilities: Type.Array(Type.String()),
  reasoning_efforts: Type.Array(Type.String()),
  default_reasoning_effort: Type.Union([Type.String(), Type.Null()]),
})
export const ChatModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ChatModelView) })

export function chatModelView(model: ChatModelConfig): Static<typeof ChatModelView> {
  const { id, created, name, description, context_length, max_output_tokens, default_reasoning_effort } = model
  return {
    ...{ id, object: 'model', created, owned_by: 'organization', name, description, context_length, max_output_tokens },
    ...{
      capabilities: [...model.capabilities],
      reasoning_efforts: [...model.reasoning_efforts],
      default_reasoning_effort,
    },
  }
}
