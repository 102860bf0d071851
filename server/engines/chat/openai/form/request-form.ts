import type { EngineError, FormPart } from '../../../engine-error.ts'

/**
 * What differs between servers in how a request is written. `accepts`: sampling parameters that the server has, as far as the operator says.
 * `parallel_tool_calls`: it has the parameter. `developer_role`: it knows that role. `reasoning_content_input`: it takes earlier reasoning
 * back. `refused`: what it has turned out not to take.
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
  const { is_used } = CHANGES[part]
  return is_used?.(form) === false ? null : withoutParts(form, [part])
}

/** The form without these parts, too. */
export function withoutParts(form: RequestForm, parts: Iterable<FormPart>): RequestForm {
  const added = [...parts].filter((part) => !form.refused.has(part))
  const refused = new Set([...form.refused, ...added])
  return Object.assign({ ...form }, ...added.map((part) => CHANGES[part].setting), { refused })
}

/** `needs_operator`: whether a setting avoids the refusal. */
export type FormAdvice = { detail: string; needs_operator: boolean }

/** What the log says when `other` turned out to be what the server takes. */
export function formAdvice(form: RequestForm, other: RequestForm): FormAdvice {
  const parts = [...other.refused].filter((part) => !form.refused.has(part))
  const settings = Object.entries(Object.assign({}, ...parts.map((part) => CHANGES[part].setting)))
  const needs_operator = settings.length > 0
  const advice = needs_operator
    ? settings.map(([name, value]) => `Set ${name}: ${value}.`).join(' ')
    : 'There is nothing to set.'
  const detail = `The server refuses ${parts.join(', ')}. Requests are sent without until the next start. ${advice}`
  return { detail, needs_operator }
}

type Change = { setting?: Partial<RequestForm>; is_used?(form: RequestForm): boolean }

/** What is changed besides leaving the part out: the settings by which the operator avoids the refusal. */
const CHANGES: Readonly<Record<FormPart, Change>> = {
  max_tokens: {
    setting: { max_tokens_field: 'max_completion_tokens' },
    is_used: (form) => form.max_tokens_field === 'max_tokens' && !form.refused.has('max_completion_tokens'),
  },
  max_completion_tokens: {
    setting: { max_tokens_field: 'max_tokens' },
    is_used: (form) => form.max_tokens_field === 'max_completion_tokens' && !form.refused.has('max_tokens'),
  },
  plain: { setting: { stream_plain: true }, is_used: (form) => !form.stream_plain },
  no_reasoning: { setting: { reasoning_content_input: true }, is_used: (form) => !form.reasoning_content_input },
  developer_role: { setting: { developer_role: false }, is_used: (form) => form.developer_role },
  stream_options: {},
  extra_content: {},
  reasoning_details: {},
  call_ids: {},
}
