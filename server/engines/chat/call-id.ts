import { createHash } from 'node:crypto'

/** The longest id of a call that is passed on: some hold a signature of several KB. Source: https://github.com/BerriAI/litellm/pull/16895 */
export const CALL_ID_MAX = 16_384

/**
 * The name of a called tool without tokens of the model's template, which servers leave behind it: `look<|channel|>commentary`.
 * Source: https://github.com/vllm-project/vllm/issues/32587
 */
export function calledName(name: string): string {
  const stop = name.indexOf('<|')
  return stop < 0 ? name : name.slice(0, stop).trimEnd()
}

/** An id in the place of one that another provider gave to a call: 9 letters and digits, the same for the call and its result. */
export function portableCallId(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9)
}
