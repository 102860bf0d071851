import type { ChatRequest } from './contract.ts'

/** Reads what a server says of a request. */
export type ReadWords = (text: string) => ServerWords

/**
 * `own`: the text without what it repeats of the request at length, to be searched for what it means. `reason`: what is fit for the log;
 * undefined when nothing is left.
 */
type ServerWords = { own: string; reason: string | undefined }

/**
 * What a server says about `request`, without what it repeats of it, and for the log without addresses, credentials and `names`, which are the
 * operator's. Servers put all of these into their errors. A piece of a text is found when it has `gram + step` characters, is in quotes, or
 * is the text; also where a server escapes it as JSON or Python do. A request with more than `SEARCHED_MAX` characters has no reason.
 */
export function readWords(request: ChatRequest, names: readonly (string | undefined)[]): ReadWords {
  return (text) => {
    const said = plain(text.slice(0, READ_MAX))
    const texts = textsOf(request)
    if (texts === null) return { own: said, reason: undefined }
    const { own, rest } = withoutTexts(said, texts, { is_cut: text.length >= READ_MAX })
    return { own, reason: withoutSecrets(rest, names) }
  }
}

function withoutSecrets(rest: string, names: readonly (string | undefined)[]): string | undefined {
  let words = rest
  for (const name of names) if (name !== undefined && name.length >= NAME_MIN) words = words.replaceAll(name, GAP)
  for (const pattern of SECRETS) words = words.replace(pattern, GAP)
  words = words
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/…[\s…]*…/g, GAP)
    .slice(0, LENGTH_MAX)
    .trim()
  return /[\p{L}\p{N}]/u.test(words) ? words : undefined
}

/** How much of a text is read. Errors have been cut to as much: see `errorDetail`. */
const READ_MAX = 2000
const LENGTH_MAX = 400
/** To search a million characters takes 40 ms of processor time, in which nobody else is served (2026-11-26, two cores). */
const SEARCHED_MAX = 1_000_000
/** A shorter name is a part of other words, unless it is of ideographs. */
const NAME_MIN = 4
const IDEOGRAPHS_MIN = 2
const GAP = '…'

/** URLs, mail addresses, IP addresses, host names but not paths of fields, files, credentials, in this order. */
const SECRETS = [
  /\b[a-z][a-z0-9+.-]*:\/\/\S+|\bdata:\S+/gi,
  /\S+@\S+/g,
  /\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\[[0-9a-f:]*:[0-9a-f:]+\](:\d+)?|\blocalhost(:\d+)?\b/gi,
  /(?<![\w.])(?!(messages|tools|body|response_format|input)\.)[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}(:\d+)?\b/gi,
  /(?<![\w.])\/[\w.~-]+\/[\w./~-]+/g,
  /\b((sk|pk|rk|gsk|xai|hf)[-_]|bearer )[\w*.-]{4,}/gi,
  /\b(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{24,}/gi,
]

/** Length of the pieces that are looked for, and the distance at which they are taken from a message. Ideographs say more in fewer. */
const PIECES = { gram: 12, step: 6 }
const PIECES_OF_IDEOGRAPHS = { gram: 6, step: 3 }
const IDEOGRAPH = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u

/**
 * An echo of the request is at least so many pieces long, and comes after words of the server. A shorter one may be a phrase that both use,
 * and a text that begins with one is the server's: people talk to models about the errors of models.
 */
const ECHO_GRAMS = 4

function withoutTexts(words: string, texts: readonly string[], { is_cut }: { is_cut: boolean }) {
  const { gram, step } = IDEOGRAPH.test(words) ? PIECES_OF_IDEOGRAPHS : PIECES
  const isHidden = new Uint8Array(words.length)
  const short = findTexts(words, texts, { gram, step, isHidden })
  // What was cut may end with a piece that is too short to be found.
  const end = is_cut ? words.length - gram - step : words.length
  let rest = ''
  let own = ''
  for (let at = 0; at < end; ) {
    let stop = at
    while (stop < end && isHidden[stop] === isHidden[at]) stop++
    const run = words.slice(at, stop)
    rest += isHidden[at] ? GAP : run
    own += isHidden[at] && run.length >= ECHO_GRAMS * gram && at > 0 ? GAP : run
    at = stop
  }
  for (const text of short) rest = rest.replaceAll(text, GAP)
  return { own: withoutQuotes(own, texts, { keeps: NAME }), rest: withoutQuotes(rest, texts) }
}

/** Marks the pieces of `texts` in `words`. Returns the texts that are too short to be found by pieces, and may be in it. */
function findTexts(
  words: string,
  texts: readonly string[],
  { gram: length, step, isHidden }: { gram: number; step: number; isHidden: Uint8Array },
): Set<string> {
  const places = new Map<string, number[]>()
  const beginnings = new Set<string>()
  for (let at = 0; at < words.length; at++) {
    beginnings.add(words.slice(at, at + IDEOGRAPHS_MIN))
    const gram = words.slice(at, at + length)
    const found = places.get(gram)
    if (found === undefined) places.set(gram, [at])
    else found.push(at)
  }
  const short = new Set<string>()
  for (const text of texts) {
    if (text.length <= length + step && beginnings.has(text.slice(0, IDEOGRAPHS_MIN))) short.add(text)
    for (let at = 0; at + length <= text.length; at += step) {
      const gram = text.slice(at, at + length)
      const found = places.get(gram)
      if (found === undefined) continue
      for (const place of found) isHidden.fill(1, Math.max(0, place - step), place + length + step)
      // Hidden once: a text of one repeated character has the same piece a million times.
      places.delete(gram)
    }
  }
  return short
}

const QUOTED = /(?<!\w)["'`“]([^"'`”]{4,})["'`”](?!\w)/g
/** Of a field or a model, which says what an error is about even when the request has it. */
const NAME = /^[\w./:@[\]-]+$/

function withoutQuotes(said: string, texts: readonly string[], { keeps }: { keeps?: RegExp } = {}): string {
  const quoted = quotedOf(said, texts)
  return said.replace(QUOTED, (found, words: string) => (quoted.has(words) && !keeps?.test(words) ? GAP : found))
}

/** So many quoted words are looked for in the request. Any more are hidden. */
const QUOTES_MAX = 16

/** The quoted words that are, or may be, of the request. */
function quotedOf(said: string, texts: readonly string[]): Set<string> {
  const quoted = new Set([...said.matchAll(QUOTED)].map((found) => found[1]!))
  const known = [...quoted].slice(0, QUOTES_MAX).filter((words) => PROTOCOL.has(words) || !isIn(texts, words))
  for (const words of known) quoted.delete(words)
  return quoted
}

function isIn(texts: readonly string[], words: string): boolean {
  return texts.some((text) => text.includes(words))
}

/** Every text that the client wrote, but files and the words of the protocol. Null when they are longer than `SEARCHED_MAX` together. */
function textsOf(request: ChatRequest): string[] | null {
  const { messages, tools, tool_choice, response_format, stop, user, extra = {} } = request
  const found: string[] = []
  const rest: unknown[] = [tools, tool_choice, response_format, stop, user, ...Object.values(extra)]
  for (const message of messages) {
    const { content } = message
    if (typeof content === 'string') rest.push(content)
    else for (const part of content ?? []) if (part.type === 'text') rest.push(part.text)
    if (message.role === 'tool') rest.push(message.tool_call_id)
    else rest.push(message.name)
    if (message.role !== 'assistant') continue
    rest.push(message.reasoning, message.refusal)
    for (const call of message.tool_calls ?? []) rest.push(call.id, call.function.name, call.function.arguments)
  }
  let length = 0
  while (rest.length > 0) {
    const value = rest.pop()
    if (typeof value === 'string') {
      length += value.length
      if (length > SEARCHED_MAX) return null
      const text = PROTOCOL.has(value) ? '' : plain(value).trim()
      if (text.length >= (IDEOGRAPH.test(text.slice(0, NAME_MIN)) ? IDEOGRAPHS_MIN : NAME_MIN)) found.push(text)
    } else if (Array.isArray(value)) {
      for (const each of value) rest.push(each)
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, each] of Object.entries(value)) rest.push(name, each)
    }
  }
  return found
}

/** Without escapes, however often they were escaped, and with one space between words: the same for a text and its echo. */
function plain(text: string): string {
  const unescaped = text.includes('\\') ? text.replace(ESCAPE, characterOf) : text
  return unescaped.replace(/\s{2,}|[^\S ]/g, ' ')
}

const ESCAPE = /\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2})|([nrtbf])|)/gi

function characterOf(_: string, unit: string | undefined, byte: string | undefined, space: string | undefined): string {
  const code = unit ?? byte
  return code === undefined ? (space === undefined ? '' : ' ') : String.fromCharCode(Number.parseInt(code, 16))
}

/** Members of tools and formats, words of JSON Schema and values of ours. None of them is a client's own. */
const PROTOCOL: ReadonlySet<string> = new Set([
  ...[
    'type',
    'function',
    'name',
    'description',
    'parameters',
    'strict',
    'schema',
    'json_schema',
    'json_object',
    'text',
  ],
  ...['auto', 'none', 'required', 'allowed_tools', 'mode', 'tools', 'object', 'array', 'string', 'number', 'integer'],
  ...['boolean', 'null', 'properties', 'additionalProperties', 'patternProperties', 'items', 'prefixItems', 'enum'],
  ...['const', 'anyOf', 'allOf', 'oneOf', 'not', 'title', 'default', 'examples', 'pattern', 'format', '$ref', '$defs'],
  ...['definitions', '$schema', '$id', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties', 'nullable'],
  ...['user', 'system', 'developer', 'assistant', 'tool'],
])
