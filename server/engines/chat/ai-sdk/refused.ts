import { EngineError } from '../../engine-error.ts'
import type { Warning } from './model.ts'

/** A request that the model cannot take. `why` is shown to the client: a text of ours. Without a field when the package does not say which. */
export function refused(field: string | undefined, why: string): EngineError {
  return new EngineError('rejected', 'The request has what the model does not take.', {
    public_message: `${field ?? 'A field of the request'}: ${why}`,
    param: field,
  })
}

/** The rejection behind the warnings of a package; null when it left out nothing but what may be ignored. */
export function warningError(warnings: readonly Warning[]): EngineError | null {
  const left_out = warnings.find(({ type, feature }) => type === 'unsupported' && !IGNORED.has(feature ?? ''))
  if (left_out === undefined) return null
  const field = FIELDS.get(left_out.feature ?? '')
  return refused(field, 'is not supported by this model, or not together with the other fields.')
}

/** Parameters that are ignored where a model does not have them. Source: contract 9.1. */
const IGNORED: ReadonlySet<string> = new Set(['topK'])

/** Parameters as packages name them, and the fields of a request behind them. */
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
  ['strict', 'tools'],
  ['reasoning', 'reasoning_effort'],
])
