import type { EngineError, FormPart } from '../../engine-error.ts'

/**
 * What differs between servers in how a request is written. `accepts`: sampling parameters that the server has, as far as the operator says.
 * `parallel_tool_calls`: it has the parameter. `developer_role`: it knows that role. `reasoning_content_input`: it takes earlier reasoning back. `refused`: what it has turned out not to
 * take.
 */
export type RequestForm = {
  developer_role: boolean
  reasoning_content_input: boolean
  max_tokens_field: 'max_completion_tokens' | 'max_tokens'
  system_messages: 'merged' | 'separate'
  assistant_after_tool: boolean
  parallel_tool_calls: boolean
  accepts: readonly string[] | undefined
  stream_plain: boolean
  refused: ReadonlySet<FormPart>
}

/** The form without what the server refused of it; null when the refusal is about something else, or about both ways to write it. */
export function otherForm(form: RequestForm, error: EngineError): RequestForm | null {
  const { refused_form: part } = error
  if (part === undefined || form.refused.has(part)) return null
  const changed = { ...form, refused: new Set([...form.refused, part]) }
  if (part === 'plain') return form.stream_plain ? null : { ...changed, stream_plain: true }
  if (part !== 'max_tokens' && part !== 'max_completion_tokens') return changed
  const other = part === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  return form.max_tokens_field === part && !form.refused.has(other) ? { ...changed, max_tokens_field: other } : null
}
