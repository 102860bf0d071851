import Type from 'typebox'
import { OutputItem } from './items.ts'
import { OutputText, ReasoningText, Refusal, SummaryText, TokenLogprobView } from './parts.ts'
import { ResponseObject } from './response.ts'

/** The data of the events of a response, by type. Source: contract 11.1. */
const Index = Type.Integer({ minimum: 0 })
const text = Type.String()
const whole = { response: ResponseObject }
const item = { output_index: Index, item: OutputItem }
const inItem = { item_id: Type.String(), output_index: Index }
const inContent = { ...inItem, content_index: Index }
const inSummary = { ...inItem, summary_index: Index }
const part = { ...inContent, part: Type.Union([OutputText, Refusal, ReasoningText]) }
const summaryPart = { ...inSummary, part: SummaryText }
const logprobs = Type.Array(TokenLogprobView)
const problem = { code: text, message: text, param: Type.Union([text, Type.Null()]) }

const MEMBERS: Readonly<Record<string, Type.TProperties>> = {
  'response.created': whole,
  'response.queued': whole,
  'response.in_progress': whole,
  'response.completed': whole,
  'response.incomplete': whole,
  'response.failed': whole,
  'response.output_item.added': item,
  'response.output_item.done': item,
  'response.content_part.added': part,
  'response.content_part.done': part,
  'response.output_text.delta': { ...inContent, delta: text, logprobs },
  'response.output_text.done': { ...inContent, text, logprobs },
  'response.refusal.delta': { ...inContent, delta: text },
  'response.refusal.done': { ...inContent, refusal: text },
  'response.function_call_arguments.delta': { ...inItem, delta: text },
  'response.function_call_arguments.done': { ...inItem, arguments: text },
  'response.custom_tool_call_input.delta': { ...inItem, delta: text },
  'response.custom_tool_call_input.done': { ...inItem, input: text },
  'response.reasoning_summary_part.added': summaryPart,
  'response.reasoning_summary_part.done': summaryPart,
  'response.reasoning_summary_text.delta': { ...inSummary, delta: text },
  'response.reasoning_summary_text.done': { ...inSummary, text },
  'response.reasoning_text.delta': { ...inContent, delta: text },
  'response.reasoning_text.done': { ...inContent, text },
  error: { error: Type.Object({ type: text, ...problem }), ...problem },
}

const events = Object.entries(MEMBERS).map(([type, members]) =>
  Type.Object({ type: Type.Literal(type), sequence_number: Index, ...members }, { title: titleOf(type) }),
)

/** The data of one event; `type` says which. */
export const ResponseStreamEvent = Type.Union(events, {
  title: 'ResponseStreamEvent',
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(Object.keys(MEMBERS).map((type) => [type, `#/components/schemas/${titleOf(type)}`])),
  },
})

/** `response.output_text.delta` is `ResponseOutputTextDeltaEvent`. */
function titleOf(type: string): string {
  const words = type.replace(/^response\./, '').split(/[._]/)
  return `Response${words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')}Event`
}
