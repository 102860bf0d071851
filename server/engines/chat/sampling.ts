import type { ChatRequest } from './contract.ts'

/** The parameters of a request that say how tokens are drawn. */
export const SAMPLING = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'repetition_penalty',
  'frequency_penalty',
  'presence_penalty',
] as const
type Name = (typeof SAMPLING)[number]

/**
 * Values that switch a parameter off. Clients send every parameter they know with such a value, and servers reject the name of one that
 * they do not have, whatever its value. `temperature` and `top_p` are such values when both are 1. Documented in docs/engines.md.
 */
const NEUTRAL: Partial<Record<Name, readonly number[]>> = {
  top_k: [0, -1],
  min_p: [0],
  repetition_penalty: [1],
  frequency_penalty: [0],
  presence_penalty: [0],
}

/** Parameters that are ignored where the server does not have them. Source: contract 9.1. */
const IGNORED: ReadonlySet<Name> = new Set(['top_k', 'min_p', 'repetition_penalty'])

/**
 * The parameters that are sent to a server: without neutral values and, where `accepts` says what the server has, without those that are
 * ignored otherwise. What `accepts` names is sent as it is, since the server's own default may be another.
 */
export function sentSampling(request: ChatRequest, accepts?: readonly string[]): Pick<ChatRequest, Name> {
  const plain = request.temperature === 1 && request.top_p === 1
  const sent: Pick<ChatRequest, Name> = {}
  for (const name of SAMPLING) {
    const value = request[name]
    if (value === undefined) continue
    if (!accepts?.includes(name)) {
      if (NEUTRAL[name]?.includes(value)) continue
      if (plain && (name === 'temperature' || name === 'top_p')) continue
      if (accepts !== undefined && IGNORED.has(name)) continue
    }
    sent[name] = value
  }
  return sent
}
