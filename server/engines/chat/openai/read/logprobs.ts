import { asRecord } from '../../../../platform/json/record.ts'
import type { TokenLogprob } from '../../contract.ts'

/** The tokens of `logprobs.content`, entries that cannot be read left out. Source: contract 9.3. */
export function readLogprobs(value: unknown): TokenLogprob[] {
  const content = asRecord(value)?.content
  return Array.isArray(content) ? content.flatMap(readToken) : []
}

/** What OpenAI writes where a probability is too small for a number; JSON of other servers has null there. */
const LOGPROB_MIN = -9999

function readToken(value: unknown): TokenLogprob[] {
  const alternatives = asRecord(value)?.top_logprobs
  return readAlternative(value).map((token) => ({
    ...token,
    top_logprobs: Array.isArray(alternatives) ? alternatives.flatMap(readAlternative) : [],
  }))
}

function readAlternative(value: unknown): Array<{ token: string; logprob: number; bytes: number[] | null }> {
  const entry = asRecord(value)
  if (entry === null || typeof entry.token !== 'string') return []
  const logprob = Number.isFinite(entry.logprob) ? (entry.logprob as number) : LOGPROB_MIN
  return [{ token: entry.token, logprob, bytes: isBytes(entry.bytes) ? entry.bytes : null }]
}

function isBytes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)
}
