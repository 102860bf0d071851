import { asRecord, jsonIn } from '../../platform/json/record.ts'
import type { ModerationResult } from './contract.ts'

export type GuardVerdict = Pick<ModerationResult, 'verdict' | 'categories'>

export type GuardFormat = {
  sees_images: boolean
  /** What is asked about the policy, and the form of the answer; null for models that carry their policy in their weights. */
  question: string | null
  /** Members added to the request. */
  options: Record<string, unknown>
  /**
   * The verdict in a trimmed answer. The first word blocks, in any case and whatever follows it: models add text, leave out line ends and
   * invent categories. Only an answer that is exactly the model's way of saying "safe" allows. Null for everything else.
   */
  read(answer: string, controversial: 'allow' | 'block'): GuardVerdict | null
}

/** The policy of formats that take one, unless the operator has written another. */
export const DEFAULT_POLICY = [
  'You check prompts and pictures for a video generator.',
  'Forbidden: sexual content, any sexualization of minors, graphic violence, self-harm, hatred or harassment of people,',
  'instructions for crime or weapons, and deception about real people.',
].join(' ')

/**
 * As the model cards have them. Source: https://huggingface.co/meta-llama/Llama-Guard-4-12B, https://huggingface.co/Qwen/Qwen3Guard-Gen-8B,
 * https://huggingface.co/openai/gpt-oss-safeguard-20b, https://huggingface.co/google/shieldgemma-2-4b-it. That Llama Guard does not keep to
 * its form: https://github.com/ogx-ai/ogx/pull/5045
 */
export const GUARD_FORMATS: Record<'llama-guard' | 'qwen3guard' | 'gpt-oss-safeguard' | 'yes-no', GuardFormat> = {
  'llama-guard': { sees_images: true, question: null, options: { max_tokens: 64 }, read: verdictOnly(readLlamaGuard) },
  qwen3guard: { sees_images: false, question: null, options: { max_tokens: 128 }, read: verdictOnly(readQwen3Guard) },
  'gpt-oss-safeguard': {
    sees_images: false,
    question:
      'Does what the user sends break this policy? Answer with JSON only: {"violation": 0 or 1, "category": string or null, "rationale": string}.',
    options: { response_format: { type: 'json_object' } },
    read: behindReasoning(readSafeguard),
  },
  'yes-no': {
    sees_images: true,
    question: 'Does what the user sends break this policy? Answer with one word, Yes or No.',
    // Room for a model that reasons in a few sentences before its word.
    options: { max_tokens: 512 },
    read: behindReasoning(readYesNo),
  },
}

/**
 * Breaks the markers of chat templates in a text by a space: servers put it into a template, whose tokenizer would read a marker of the
 * client's as the end of the message, or as an answer. The words stay for the guard. One pass: each place is decided by what follows it, and
 * no marker begins with the space that is put in.
 */
export function breakMarkers(text: string): string {
  return text.replace(MARKER, '$& ')
}

/** Words that templates put into angle brackets. */
const TAGS = 'bos|eos|pad|unk|s|sys|(?:no[-_])?think|(?:start|end)_of_(?:turn|image)|tool_(?:call|response)|guardian'
/**
 * Where a marker is broken: behind `<` of `<|…` and of a tag, behind `|` of `…|>`, behind `[` of `[INST]`. DeepSeek's bars are U+FF5C; Llama
 * Guard's template has `<BEGIN CONVERSATION>`. Source: the chat templates of the models above.
 */
const MARKER = new RegExp(
  `<(?=[|\uff5c]|<?/?(?:${TAGS})>|/?(?:begin|end)\\s)|[|\uff5c](?=>)|\\[(?=/?(?:inst|system_prompt)\\])`,
  'gi',
)

type Read = GuardFormat['read']

/** Reads what follows `<think>…</think>`. Where it is not clear what is reasoning, which may quote any word, nothing allows. */
function behindReasoning(read: Read): Read {
  return (answer, controversial) => {
    const [before = '', after, ...more] = answer.split('</think>')
    if (after === undefined) return read(answer, controversial)
    const is_clear = more.length === 0 && before.lastIndexOf('<think>') === 0
    const first = is_clear ? null : read(before.trim(), controversial)
    const verdict = first?.verdict === 'block' ? first : read(after.trim(), controversial)
    return is_clear || verdict?.verdict === 'block' ? verdict : null
  }
}

/** Of a model that writes no reasoning: what follows some may block, and allows nothing. */
function verdictOnly(read: Read): Read {
  return (answer, controversial) => {
    const verdict = behindReasoning(read)(answer, controversial)
    return verdict?.verdict === 'allow' && answer.includes('</think>') ? null : verdict
  }
}

/** `safe`, or `unsafe` and its hazards: S1 to S14, O1 to O6 in the first version. */
function readLlamaGuard(answer: string): GuardVerdict | null {
  if (answer === 'safe') return ALLOW
  const rest = behindWord(answer, 'unsafe')
  return rest === null ? null : block(rest.toUpperCase().match(/\b[SO]\d{1,2}\b/g), 'unsafe')
}

function readQwen3Guard(answer: string, controversial: 'allow' | 'block'): GuardVerdict | null {
  const exact = /^Safety: (Safe|Controversial)\s*\nCategories: ([^\n]+?)\s*(?:\nRefusal: (?:Yes|No)\s*)?$/.exec(answer)
  if (exact?.[1] === 'Safe') return exact[2] === 'None' ? ALLOW : null
  if (exact !== null && controversial === 'allow') return { verdict: 'allow', categories: listOf(exact[2]!) }
  const words = controversial === 'allow' ? 'unsafe' : '(?:unsafe|controversial)'
  const rest = behindWord(answer, `(?:safety${BETWEEN})?${words}`)
  if (rest === null) return null
  return block(listOf(/\bcategories[^\p{L}\n]*([^\n]*)/iu.exec(rest)?.[1] ?? ''), 'unsafe')
}

/** One JSON object. One that answers twice does not allow, since parsers disagree about which of the two counts. */
function readSafeguard(answer: string): GuardVerdict | null {
  const json = asRecord(jsonIn(answer))
  if (json?.violation === 0 && answer.match(/"violation"\s*:/g)?.length === 1) return ALLOW
  const first = /"violation"\s*:\s*("?)([\w.+-]*)\1/.exec(answer)?.[2]?.toLowerCase()
  if (first !== '1' && first !== 'true' && first !== 'yes') return null
  return block(/"(?:policy_)?category"\s*:\s*"([^"\\]+)"/.exec(answer)?.slice(1), 'violation')
}

/** The word alone; Granite Guardian puts it into `<score>`. Source: https://huggingface.co/ibm-granite/granite-guardian-3.3-8b */
function readYesNo(answer: string): GuardVerdict | null {
  if (/^(?:no\.?|<score>\s*no\s*<\/score>)$/i.test(answer)) return ALLOW
  return behindWord(answer, '(?:<score>\\s*)?yes') === null ? null : block([], 'policy')
}

const ALLOW: GuardVerdict = { verdict: 'allow', categories: [] }

/** The categories go into the moderation record: names as a model has them, not what it may quote from a prompt. */
function block(categories: readonly string[] | null | undefined, otherwise: string): GuardVerdict {
  const names = [...new Set(categories ?? [])].filter((name) => /^[\w &,()/.-]{1,64}$/.test(name)).slice(0, 16)
  return { verdict: 'block', categories: names.length > 0 ? names : [otherwise] }
}

function listOf(names: string): string[] {
  return names.split(/\s*,\s*/)
}

/** What may stand around a word: marks and white space. */
const BETWEEN = '[^\\p{L}\\p{N}]*'

/** What follows the first word of an answer when it is `word`, in any case; null when it is not. */
function behindWord(answer: string, word: string): string | null {
  const found = new RegExp(`^(?:(?!<score>)[^\\p{L}\\p{N}])*${word}(?![\\p{L}\\p{N}])`, 'iu').exec(answer)
  return found === null ? null : answer.slice(found[0].length)
}

/**
 * The verdict by the probability of Yes against No at the first token, as ShieldGemma's card has it; null when the server gave neither.
 * Source: https://huggingface.co/google/shieldgemma-2-4b-it
 */
export function readProbability(logprobs: unknown, block_above: number): GuardVerdict | null {
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
