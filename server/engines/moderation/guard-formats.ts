import { asRecord } from '../../platform/json/record.ts'
import type { ModerationResult } from './contract.ts'

type Reading = Pick<ModerationResult, 'verdict' | 'categories'>

export type GuardFormat = {
  sees_images: boolean
  /** What is asked about the policy, and the form of the answer; null for models that carry their policy in their weights. */
  question: string | null
  /** Members added to the request. */
  options: Record<string, unknown>
  /** The verdict in a trimmed answer; null for anything that is not exactly one. */
  read(answer: string, controversial: 'allow' | 'block'): Reading | null
}

/** The policy of formats that take one, unless the operator has written another. */
export const DEFAULT_POLICY = [
  'You check prompts and pictures for a video generator.',
  'Forbidden: sexual content, any sexualization of minors, graphic violence, self-harm, hatred or harassment of people,',
  'instructions for crime or weapons, and deception about real people.',
].join(' ')

/**
 * As the model cards have them. Source: https://huggingface.co/meta-llama/Llama-Guard-4-12B, https://huggingface.co/Qwen/Qwen3Guard-Gen-8B,
 * https://huggingface.co/openai/gpt-oss-safeguard-20b, https://huggingface.co/google/shieldgemma-2-4b-it
 */
export const GUARD_FORMATS: Record<'llama-guard' | 'qwen3guard' | 'gpt-oss-safeguard' | 'yes-no', GuardFormat> = {
  'llama-guard': { sees_images: true, question: null, options: { max_tokens: 64 }, read: readLlamaGuard },
  qwen3guard: { sees_images: false, question: null, options: { max_tokens: 128 }, read: readQwen3Guard },
  'gpt-oss-safeguard': {
    sees_images: false,
    question:
      'Does what the user sends break this policy? Answer with JSON only: {"violation": 0 or 1, "category": string or null, "rationale": string}.',
    options: { response_format: { type: 'json_object' } },
    read: readSafeguard,
  },
  'yes-no': {
    sees_images: true,
    question: 'Does what the user sends break this policy? Answer with one word, Yes or No.',
    options: { max_tokens: 8 },
    read: readYesNo,
  },
}

/** `safe`, or `unsafe` with the hazards S1 to S14 on the second line. */
function readLlamaGuard(answer: string): Reading | null {
  if (answer === 'safe') return { verdict: 'allow', categories: [] }
  const unsafe = /^unsafe(?:\s*\n\s*(S\d{1,2}(?:\s*,\s*S\d{1,2})*))?$/.exec(answer)
  return unsafe === null ? null : { verdict: 'block', categories: unsafe[1]?.split(/\s*,\s*/) ?? ['unsafe'] }
}

function readQwen3Guard(answer: string, controversial: 'allow' | 'block'): Reading | null {
  const found = /^Safety: (Safe|Unsafe|Controversial)\s*\nCategories: ([^\n]+?)\s*(?:\nRefusal: (?:Yes|No)\s*)?$/.exec(
    answer,
  )
  if (found === null) return null
  const [, safety, list = ''] = found
  if (safety === 'Safe') return list === 'None' ? { verdict: 'allow', categories: [] } : null
  return { verdict: safety === 'Unsafe' ? 'block' : controversial, categories: list.split(/\s*,\s*/) }
}

/** One JSON object. One that answers twice is no answer, since parsers disagree about which of the two counts. */
function readSafeguard(answer: string): Reading | null {
  if (answer.match(/"violation"\s*:/g)?.length !== 1) return null
  const json = parse(answer)
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return null
  const { violation, category } = json as { violation?: unknown; category?: unknown }
  if (violation === 0) return { verdict: 'allow', categories: [] }
  if (violation === 1) return { verdict: 'block', categories: [typeof category === 'string' ? category : 'violation'] }
  return null
}

function readYesNo(answer: string): Reading | null {
  const word = /^(yes|no)\.?$/i.exec(answer)?.[1]?.toLowerCase()
  if (word === undefined) return null
  return word === 'no' ? { verdict: 'allow', categories: [] } : { verdict: 'block', categories: ['policy'] }
}

/**
 * The verdict by the probability of Yes against No at the first token, as ShieldGemma's card has it; null when the server gave neither.
 * Source: https://huggingface.co/google/shieldgemma-2-4b-it
 */
export function readProbability(logprobs: unknown, block_above: number): Reading | null {
  const content = asRecord(logprobs)?.content
  const candidates = Array.isArray(content) ? asRecord(content[0])?.top_logprobs : null
  if (!Array.isArray(candidates)) return null
  const shares = { yes: 0, no: 0 }
  for (const candidate of candidates) {
    const { token, logprob } = asRecord(candidate) ?? {}
    const word = typeof token === 'string' ? token.trim().toLowerCase() : null
    if (word !== 'yes' && word !== 'no') continue
    if (typeof logprob !== 'number' || logprob > ROUNDING) return null
    shares[word] += Math.exp(logprob)
  }
  const { yes, no } = shares
  if (yes + no === 0) return null
  return yes / (yes + no) > block_above
    ? { verdict: 'block', categories: ['policy'] }
    : { verdict: 'allow', categories: [] }
}

/** Servers round the logarithm of certainty, to slightly above 0 at times. */
const ROUNDING = 1e-3

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
