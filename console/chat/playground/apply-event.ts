import type { AssistantMessage } from '../conversation/conversation.ts'

/** An event of a streamed response, read leniently. Source: docs/api/responses.md, events. */
export type StreamEvent = {
  type: string
  sequence_number: number
  delta?: string
  item?: { type: string; call_id?: string; name?: string }
  response?: { id: string }
}

const END = /^response\.(completed|incomplete|failed)$/

/** Applies an event to the answer. Returns whether it is the last one. */
export function applyEvent(answer: AssistantMessage, { type, delta = '', item, response }: StreamEvent): boolean {
  if (response) answer.response_id = response.id
  if (type === 'response.output_text.delta') answer.text += delta
  else if (type === 'response.refusal.delta') answer.refusal += delta
  else if (type === 'response.reasoning_summary_text.delta') answer.reasoning += delta
  else if (type === 'response.output_item.added' && item?.type === 'function_call') {
    const { call_id = '', name = '' } = item
    answer.tool_calls = [...answer.tool_calls, { call_id, name, arguments: '' }]
  } else if (type === 'response.function_call_arguments.delta') {
    // One call is written at a time.
    const call = answer.tool_calls.at(-1)
    if (call) answer.tool_calls = [...answer.tool_calls.slice(0, -1), { ...call, arguments: call.arguments + delta }]
  }
  return END.test(type)
}
