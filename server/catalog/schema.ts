import type { Static } from 'typebox'
import Type from 'typebox'
import type { ChatModelConfig, Config } from '../config/config.ts'
import { formatMoney } from '../platform/money.ts'

const MaybeInteger = Type.Union([Type.Integer(), Type.Null()])

const PricePerMillion = Type.String({ description: 'Decimal string with 8 fraction digits, for a million tokens.' })

export const ChatModelView = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  shutdown_date: Type.Optional(Type.String({ description: 'The day on which the model ends, as YYYY-MM-DD.' })),
  owned_by: Type.String(),
  name: Type.String(),
  description: Type.String(),
  test_model: Type.Boolean({ description: 'Answers come from the embedded sandbox: for building clients.' }),
  context_length: MaybeInteger,
  max_output_tokens: MaybeInteger,
  capabilities: Type.Array(Type.String()),
  reasoning_efforts: Type.Array(Type.String()),
  default_reasoning_effort: Type.Union([Type.String(), Type.Null()]),
  pricing: Type.Object({
    input_per_million: PricePerMillion,
    cached_input_per_million: PricePerMillion,
    output_per_million: PricePerMillion,
    currency: Type.String(),
  }),
})
export const ChatModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ChatModelView) })

export function chatModelView(
  model: ChatModelConfig,
  { currency }: Pick<Config, 'currency'>,
): Static<typeof ChatModelView> {
  const { input, cached_input, output } = model.prices
  const { id, created, shutdown_date, name, description } = model
  const { context_length, max_output_tokens, default_reasoning_effort } = model
  return {
    ...{
      id,
      object: 'model',
      created,
      ...(shutdown_date !== null && { shutdown_date }),
      owned_by: 'organization',
      name,
      description,
    },
    test_model: (typeof model.engine === 'string' ? model.engine : model.engine.kind) === 'sandbox',
    context_length,
    max_output_tokens,
    ...{
      capabilities: [...model.capabilities],
      reasoning_efforts: [...model.reasoning_efforts],
      default_reasoning_effort,
    },
    pricing: {
      input_per_million: formatMoney(input),
      cached_input_per_million: formatMoney(cached_input),
      output_per_million: formatMoney(output),
      currency,
    },
  }
}
