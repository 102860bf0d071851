import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { countTokens, decodeToken, encode, encodeInTurns, tokenBytes } from '../../../platform/tokenizer.ts'
import { turnTaker } from '../../../platform/turns.ts'
import { EngineError } from '../../engine-error.ts'
import { seededRandom } from '../../seeded-random.ts'
import { tokenWeight } from '../answer-weight.ts'
import type { ChatEvent, ChatRequest, ChatTool, FinishReason, TokenLogprob } from '../contract.ts'
import type { Prompt } from './prompt.ts'
import { valueFor } from './schema/value.ts'
import { answerText, longText, refusalText, thoughtsText } from './wording.ts'

/** Consecutive tokens that together are complete characters: usually one token. */
type Piece = { text: string; ids: readonly number[] }

/** One event of an answer and its number of output tokens. */
export type Step = { event: ChatEvent; tokens: number }

/** What the choices of an answer have in common: schemas are costly, so that a request pays for few of them whatever its `n`. */
export type SharedContent = {
  request: ChatRequest
  prompt: Prompt
  calls: ReadonlyArray<{ name: string; pieces: Piece[] }>
  json: readonly Piece[][]
  /** The text of `sandbox:echo`, the same in every choice. `cut` when it is longer than an answer can be. */
  echo: { pieces: Piece[]; cut: boolean } | null
}

/** Different JSON answers of one request; further choices repeat them. */
const JSON_ANSWERS_MAX = 4
/** A choice has no more tokens, so that what is echoed is tokenized once and for a bounded time. */
const CHOICE_TOKENS_MAX = 32_768
/** What an answer may weigh with all its choices, which are put together in one go. */
const ANSWER_WEIGHT_MAX = 262_144
/** Tokens after which `sandbox:filter` and `sandbox:error` end an answer. */
const INTERRUPTED_AFTER = 8

/** Yields to other work between one schema and the next. Throws EngineError for a schema that no value is found for. */
export async function contentOf(request: ChatRequest, prompt: Prompt, signal?: AbortSignal): Promise<SharedContent> {
  const isPlain = prompt.directive === null
  const calls = []
  for (const { name, parameters } of isPlain && prompt.is_users_turn ? await chosenTools(request, prompt) : []) {
    const given = { clues: prompt.clues, random: seededRandom(`${prompt.seed}/${name}`), signal }
    const value =
      parameters === undefined ? {} : await valueFor({ type: 'object', ...parameters }, `function '${name}'`, given)
    calls.push({ name, pieces: await jsonPieces(request, value) })
  }
  const json: Piece[][] = []
  const wantsJson = isPlain && calls.length === 0 && (request.response_format?.type ?? 'text') !== 'text'
  while (wantsJson && json.length < Math.min(request.n, JSON_ANSWERS_MAX))
    json.push(await jsonPieces(request, await jsonAnswer(request, prompt, json.length, signal)))
  const echoed =
    prompt.directive?.name === 'echo' ? await encodeInTurns(prompt.directive.rest, tokensMax(request)) : null
  return { request, prompt, calls, json, echo: echoed && { pieces: piecesOf(echoed.ids), cut: echoed.cut } }
}

/** Up to one token above the limit, so that a longer text ends with `length`. */
async function jsonPieces(request: ChatRequest, value: unknown): Promise<Piece[]> {
  const { ids } = await encodeInTurns(JSON.stringify(value), tokensMax(request) + 1)
  return piecesOf(ids)
}

async function jsonAnswer(
  { response_format: format }: ChatRequest,
  prompt: Prompt,
  choice: number,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const { name, schema } = format?.type === 'json_schema' ? format.json_schema : {}
  if (schema === undefined) return { question: prompt.clues.excerpt(160), answer: answerText(prompt, choice) }
  const given = { clues: prompt.clues, random: seededRandom(`${prompt.seed}/${choice}`), signal }
  return valueFor(schema, `response_format '${name}'`, given)
}

/** The one `tool_choice` names, else those the prompt names (one without `parallel_tool_calls`), else the first that is allowed. */
async function chosenTools(request: ChatRequest, prompt: Prompt): Promise<Array<ChatTool['function']>> {
  const { tools = [], tool_choice = 'auto', parallel_tool_calls } = request
  const functions = tools.map((tool) => tool.function)
  if (tool_choice === 'none') return []
  if (typeof tool_choice === 'object' && tool_choice.type === 'function')
    return functions.filter(({ name }) => name === tool_choice.function.name)
  const allowed = typeof tool_choice === 'object' ? tool_choice.allowed_tools.tools : tools
  const offered = functions.filter(({ name }) => allowed.some((tool) => tool.function.name === name))
  const named = []
  const turn = turnTaker(1)
  for (const tool of offered) {
    const isNamed = () => new RegExp(`(?<![\\w-])${tool.name}(?![\\w-])`).test(prompt.text)
    if (prompt.text.includes(tool.name) && isNamed()) named.push(tool)
    await turn()
  }
  const some = named.length > 0 ? named : offered.slice(0, 1)
  return parallel_tool_calls === false ? some.slice(0, 1) : some
}

/** Tokens that each choice of an answer may have. */
function tokensMax(request: ChatRequest): number {
  return Math.min(CHOICE_TOKENS_MAX, Math.floor(ANSWER_WEIGHT_MAX / tokenWeight(request)))
}

/** Some text of one kind. `opening` comes before it, completely or not at all. */
type Segment = {
  pieces: readonly Piece[]
  stop?: readonly string[] | undefined
  opening?: Step
  eventOf(text: string, piece: Piece): ChatEvent
}

/** One choice of an answer, token by token: thoughts, then text, a refusal or calls, then `finish`. Throws what `sandbox:error` asks for. */
export function* stepsOf(content: SharedContent, choice: number): Generator<Step, void, undefined> {
  const { request, prompt, echo } = content
  const name = prompt.directive?.name
  let left = Math.min(request.max_tokens ?? Infinity, tokensMax(request))
  let reason: FinishReason = 'stop'
  for (const segment of segmentsOf(content, choice)) {
    const isInterrupted = (name === 'filter' || name === 'error') && segment.stop !== undefined
    if (segment.opening !== undefined && segment.opening.tokens > left) return yield finish(choice, 'length')
    if (segment.opening !== undefined) yield segment.opening
    left -= segment.opening?.tokens ?? 0
    const limit = isInterrupted ? Math.min(left, INTERRUPTED_AFTER) : left
    const end = cut(segment.pieces, { stop: segment.stop ?? [], tokens: limit })
    yield* textSteps(end.pieces, end.tokens, segment.eventOf)
    if (isInterrupted && name === 'error')
      throw new EngineError('failed', 'The sandbox broke off, as the prompt asked it to.')
    if (isInterrupted) return yield finish(choice, 'content_filter')
    if (end.reason === 'length') return yield finish(choice, 'length')
    left -= end.tokens
    reason = echo?.cut && end.pieces.length === segment.pieces.length ? 'length' : 'stop'
  }
  yield finish(choice, content.calls.length > 0 ? 'tool_calls' : reason)
}

function* segmentsOf(content: SharedContent, choice: number): Generator<Segment> {
  const { request, prompt, calls } = content
  const effort = request.reasoning_effort
  if (effort !== undefined && effort !== 'none')
    yield {
      pieces: piecesOf(encode(thoughtsText(prompt, effort))),
      eventOf: (text) => ({ type: 'reasoning-delta', choice, text }),
    }
  for (const [call, { name, pieces }] of calls.entries()) {
    const eventOf = (part: string) => ({ type: 'tool-call-delta' as const, choice, call, arguments: part })
    const opening = { event: { ...eventOf(''), id: callId(prompt, choice, call), name }, tokens: countTokens(name) }
    yield { pieces, opening, eventOf }
  }
  const stop = request.stop ?? []
  if (prompt.directive?.name === 'refuse')
    yield {
      pieces: piecesOf(encode(refusalText(prompt))),
      stop,
      eventOf: (text) => ({ type: 'refusal-delta', choice, text }),
    }
  else if (calls.length === 0) yield { pieces: textOf(content, choice), stop, eventOf: spoken(request, choice) }
}

function textOf({ request, prompt, json, echo }: SharedContent, choice: number): readonly Piece[] {
  if (json.length > 0) return json[choice % json.length]!
  if (echo !== null) return biased(echo.pieces, request.logit_bias)
  if (prompt.directive?.name === 'empty') return []
  const text = prompt.directive?.name === 'long' ? longText(prompt, choice) : answerText(prompt, choice)
  // With one token above the limit, so that a longer text ends with `length`.
  return biased(piecesOf(encode(text).slice(0, tokensMax(request) + 1)), request.logit_bias)
}

function spoken({ logprobs, top_logprobs = 0 }: ChatRequest, choice: number): Segment['eventOf'] {
  let position = 0
  return (text, piece) => {
    const event: ChatEvent = { type: 'text-delta', choice, text }
    if (logprobs === true) event.logprobs = logprobsOf(piece, top_logprobs, position)
    position += piece.ids.length
    return event
  }
}

/** The last step also counts the tokens of a character that the limit split. */
function* textSteps(pieces: readonly Piece[], tokens: number, eventOf: Segment['eventOf']): Generator<Step> {
  let left = tokens
  for (const [index, piece] of pieces.entries()) {
    const share = index === pieces.length - 1 ? left : piece.ids.length
    left -= share
    yield { event: eventOf(piece.text, piece), tokens: share }
  }
  if (pieces.length === 0 && tokens > 0) yield { event: eventOf('', { text: '', ids: [] }), tokens }
}

/** The same for the same request, and no other call of it has it. */
function callId(prompt: Prompt, choice: number, call: number): string {
  return `call_${createHash('sha256').update(`${prompt.seed}/${choice}/${call}`).digest('hex').slice(0, 24)}`
}

function finish(choice: number, reason: FinishReason): Step {
  return { event: { type: 'finish', choice, reason }, tokens: 0 }
}

function piecesOf(ids: readonly number[]): Piece[] {
  const pieces: Piece[] = []
  let first = 0
  ids.forEach((_, index) => {
    const own = ids.slice(first, index + 1)
    const bytes = own.length === 1 ? tokenBytes(own[0]!) : Buffer.concat(own.map(tokenBytes))
    if (!isUtf8(bytes) && index < ids.length - 1) return
    pieces.push({ text: Buffer.from(bytes).toString(), ids: own })
    first = index + 1
  })
  return pieces
}

/**
 * A text up to the first stop sequence or the limit of tokens, whichever comes first. The stop sequence itself is left out, and a
 * character whose tokens the limit parts, though the tokens made of it count.
 */
function cut(pieces: readonly Piece[], { stop, tokens }: { stop: readonly string[]; tokens: number }) {
  const kept: Piece[] = []
  let left = tokens
  for (const piece of pieces) {
    left -= piece.ids.length
    if (left < 0) break
    kept.push(piece)
  }
  const text = kept.map((piece) => piece.text).join('')
  const found = stop.filter((sequence) => sequence !== '' && text.includes(sequence)).map((each) => text.indexOf(each))
  let room = Math.min(...found)
  if (found.length === 0)
    return {
      pieces: kept,
      tokens: tokens - Math.max(0, left),
      reason: left < 0 ? ('length' as const) : ('stop' as const),
    }
  const before = kept.flatMap((piece) => {
    const part = piece.text.slice(0, room)
    room -= part.length
    return part === '' ? [] : [{ ...piece, text: part }]
  })
  return { pieces: before, tokens: before.reduce((sum, piece) => sum + piece.ids.length, 0), reason: 'stop' as const }
}

/** How often a token with a bias of 100 is repeated where no limit comes first. */
const WANTED_TIMES = 16

/** Without banned tokens, or nothing but the token that is asked for above all. A bias between −100 and 100 changes nothing. */
function biased(pieces: Piece[], bias: Readonly<Record<string, number>> = {}): Piece[] {
  const ids = Object.keys(bias).map(Number)
  const wanted = ids.find((id) => bias[id]! >= 100 && isText(id))
  if (wanted !== undefined) return Array.from({ length: WANTED_TIMES }, () => piecesOf([wanted])[0]!)
  return pieces.filter((piece) => !piece.ids.some((id) => (bias[id] ?? 0) <= -100))
}

function isText(id: number): boolean {
  try {
    return isUtf8(tokenBytes(id))
  } catch {
    return false
  }
}

/** Invented probabilities of a piece's tokens: the token itself first, then less likely ones, all together at most 1. */
function logprobsOf({ text, ids }: Piece, top: number, position: number): TokenLogprob[] {
  return ids.map((id, index) => {
    const bytes = ids.length === 1 ? [...Buffer.from(text)] : [...tokenBytes(id)]
    // Bytes that are no text by themselves are named as OpenAI names them.
    const token =
      ids.length === 1 ? text : `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`
    const likely =
      0.4 + 0.599 * (((Math.imul(id + 1, 0x9e3779b1) ^ Math.imul(position + index + 1, 0x85ebca6b)) >>> 0) / 2 ** 32)
    const tokens = new Set([token])
    for (let other = 256 + (id % 10_000); tokens.size < top; other++)
      if (!decodeToken(other).includes('\ufffd')) tokens.add(decodeToken(other))
    const logprob = (rank: number) => Number(Math.log(rank === 0 ? likely : (1 - likely) * 0.5 ** rank).toFixed(6))
    const entries = [...tokens].map((token, rank) => ({
      token,
      logprob: logprob(rank),
      bytes: rank === 0 ? bytes : [...Buffer.from(token)],
    }))
    return { ...entries[0]!, top_logprobs: entries.slice(0, top) }
  })
}
