import { countTokens } from '../../platform/tokenizer.ts'
import { nextTurn } from '../../platform/turns.ts'
import { ChatEngineError, type ChatEvent, type ChatRequest, type FinishReason } from '../chat.ts'
import { chanceOf } from '../storyboard/chance.ts'
import { logprobsOf } from './logprobs.ts'
import { biased, cut, type Piece, piecesInTurns, piecesOf } from './pieces.ts'
import type { Prompt } from './prompt.ts'
import { valueFor } from './schema-value.ts'
import { callId, callsFor } from './tools.ts'
import { answerText, longText, refusalText, thoughtsText } from './wording.ts'

/** One event of an answer and the output tokens it stands for. */
export type Step = { event: ChatEvent; tokens: number }

/** What the choices of an answer have in common: schemas are costly, so that a request pays for few of them whatever its `n`. */
export type Content = {
  request: ChatRequest
  prompt: Prompt
  calls: readonly SpelledCall[]
  json: readonly Piece[][]
  /** What `sandbox:echo` says, in every choice. `cut` when it is longer than an answer can be. */
  echo: { pieces: Piece[]; cut: boolean } | null
}

type SpelledCall = { name: string; pieces: Piece[] }

/** Different JSON answers of one request; further choices repeat them. */
const JSON_ANSWERS_MAX = 4

/** A choice has no more tokens, so that what is echoed is tokenized once and for a bounded time. */
const CHOICE_TOKENS_MAX = 32_768

/**
 * What an answer may weigh with all its choices: 1 a token, and this much each log probability with it. A plain answer is one text, put
 * together in one go.
 */
const ANSWER_WEIGHT_MAX = 262_144
const LOGPROB_WEIGHT = 8

/** Tokens after which `sandbox:filter` and `sandbox:error` end an answer. */
const INTERRUPTED_AFTER = 8

/** Gives way to other work between one answer and the next. */
export async function contentOf(request: ChatRequest, prompt: Prompt): Promise<Content> {
  const isPlain = prompt.directive === null
  const calls = isPlain ? callsFor(request, prompt) : []
  const wantsJson = isPlain && calls.length === 0 && (request.response_format ?? { type: 'text' }).type !== 'text'
  const json: Piece[][] = []
  while (wantsJson && json.length < Math.min(request.n, JSON_ANSWERS_MAX)) {
    if (json.length > 0) await nextTurn()
    json.push(piecesOf(jsonAnswer(request, prompt, json.length)))
  }
  const echo = prompt.directive?.name === 'echo' ? await piecesInTurns(prompt.directive.rest, tokensMax(request)) : null
  return {
    ...{ request, prompt, json, echo },
    calls: calls.map((call) => ({ name: call.name, pieces: piecesOf(call.arguments) })),
  }
}

/** One choice of an answer, token by token: thoughts, then text, a refusal or calls, then `finish`. Throws what `sandbox:error` asks for. */
export function* stepsOf(content: Content, choice: number): Generator<Step, void, undefined> {
  const { request, prompt, calls } = content
  let left = Math.min(request.max_tokens ?? Infinity, tokensMax(request))
  if (request.reasoning_effort !== undefined && request.reasoning_effort !== 'none') {
    const thoughts = cut(piecesOf(thoughtsText(prompt, request.reasoning_effort, choice)), { stop: [], tokens: left })
    yield* textSteps(thoughts.pieces, thoughts.tokens, (text) => ({ type: 'reasoning-delta', choice, text }))
    left -= thoughts.tokens
    if (thoughts.reason === 'length') return yield finish(choice, 'length')
  }
  if (calls.length > 0) yield* callSteps(content, choice, left)
  else if (prompt.directive?.name === 'refuse') yield* refusalSteps(request, prompt, choice, left)
  else yield* answerSteps(content, choice, left)
}

/** Tokens that each choice of an answer may have. */
function tokensMax({ n, logprobs, top_logprobs = 0 }: ChatRequest): number {
  const weight = logprobs === true ? 1 + LOGPROB_WEIGHT * (1 + top_logprobs) : 1
  return Math.min(CHOICE_TOKENS_MAX, Math.floor(ANSWER_WEIGHT_MAX / (n * weight)))
}

function* answerSteps(
  { request, prompt, json: answers, echo }: Content,
  choice: number,
  left: number,
): Generator<Step> {
  const json = answers[choice % answers.length]
  const whole = json ?? biased(echo?.pieces ?? piecesOf(wordsOf(prompt, choice)), request.logit_bias)
  const { name } = prompt.directive ?? {}
  const interrupted = name === 'filter' || name === 'error'
  const { pieces, tokens, reason } = cut(whole, {
    stop: request.stop ?? [],
    tokens: Math.min(left, interrupted ? INTERRUPTED_AFTER : Infinity),
  })
  let position = 0
  yield* textSteps(pieces, tokens, (text, piece) => {
    const event: ChatEvent = { type: 'text-delta', choice, text }
    if (request.logprobs === true) event.logprobs = logprobsOf(piece, request.top_logprobs ?? 0, position)
    position += piece.ids.length
    return event
  })
  if (name === 'error') throw new ChatEngineError('failed', 'The sandbox broke off, as the prompt asked it to.')
  yield finish(
    choice,
    name === 'filter' ? 'content_filter' : echo?.cut && pieces.length === whole.length ? 'length' : reason,
  )
}

function wordsOf(prompt: Prompt, choice: number): string {
  switch (prompt.directive?.name) {
    case 'empty':
      return ''
    case 'long':
      return longText(prompt, choice)
    default:
      return answerText(prompt, choice)
  }
}

function jsonAnswer({ response_format: format }: ChatRequest, prompt: Prompt, choice: number): string {
  const schema = format?.type === 'json_schema' ? format.json_schema.schema : undefined
  if (schema === undefined)
    return JSON.stringify({ question: prompt.clues.excerpt(160), answer: answerText(prompt, choice) })
  return JSON.stringify(valueFor(schema, prompt.clues, chanceOf(`${prompt.seed}/${choice}`)))
}

function* refusalSteps(request: ChatRequest, prompt: Prompt, choice: number, left: number): Generator<Step> {
  const { pieces, tokens, reason } = cut(piecesOf(refusalText(prompt, choice)), {
    stop: request.stop ?? [],
    tokens: left,
  })
  yield* textSteps(pieces, tokens, (text) => ({ type: 'refusal-delta', choice, text }))
  yield finish(choice, reason)
}

/** A call is its name, which comes whole or not at all, and its arguments token by token. */
function* callSteps({ prompt, calls }: Content, choice: number, limit: number): Generator<Step> {
  let left = limit
  for (const [call, { name, pieces: whole }] of calls.entries()) {
    const nameTokens = countTokens(name)
    if (nameTokens > left) return yield finish(choice, 'length')
    left -= nameTokens
    yield {
      event: { type: 'tool-call-delta', choice, call, id: callId(prompt, choice, call), name, arguments: '' },
      tokens: nameTokens,
    }
    const { pieces, tokens, reason } = cut(whole, { stop: [], tokens: left })
    yield* textSteps(pieces, tokens, (part) => ({ type: 'tool-call-delta', choice, call, arguments: part }))
    left -= tokens
    if (reason === 'length') return yield finish(choice, 'length')
  }
  yield finish(choice, 'tool_calls')
}

/** The last step also stands for the tokens of a character that the limit parted. */
function* textSteps(
  pieces: readonly Piece[],
  tokens: number,
  eventOf: (text: string, piece: Piece) => ChatEvent,
): Generator<Step> {
  let counted = 0
  for (const [index, piece] of pieces.entries()) {
    const share = index === pieces.length - 1 ? tokens - counted : piece.ids.length
    counted += share
    yield { event: eventOf(piece.text, piece), tokens: share }
  }
  if (pieces.length === 0 && tokens > 0) yield { event: eventOf('', { text: '', ids: [] }), tokens }
}

function finish(choice: number, reason: FinishReason): Step {
  return { event: { type: 'finish', choice, reason }, tokens: 0 }
}
