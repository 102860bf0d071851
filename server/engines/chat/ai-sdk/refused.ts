import { EngineError } from '../../engine-error.ts'
import type { Warning } from './model.ts'

/** A request that the model cannot take. `why` is shown to the client: a text of ours that begins with the field. */
export function refused(why: string): EngineError {
  return new EngineError('rejected', 'The request has what the model does not take.', { public_message: why })
}

/** The rejection behind the warnings of a package; null when nothing was ignored. */
export function warningError(warnings: readonly Warning[]): EngineError | null {
  const ignored = warnings.find(({ type }) => type === 'unsupported')
  if (ignored === undefined) return null
  const field = FIELDS.get(ignored.feature ?? '') ?? 'A field of the request'
  return refused(`${field}: is not supported by this model, or not together with the other fields.`)
}

/** Settings as packages name them, and the fields of a request behind them. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['temperature', 'temperature'],
  ['topP', 'top_p'],
  ['topK', 'top_k'],
  ['frequencyPenalty', 'frequency_penalty'],
  ['presencePenalty', 'presence_penalty'],
  ['seed', 'seed'],
  ['stopSequences', 'stop'],
  ['maxOutputTokens', 'max_tokens'],
  ['responseFormat', 'response_format'],
  ['toolChoice', 'tool_choice'],
  ['tools', 'tools'],
  ['reasoning', 'reasoning_effort'],
])
