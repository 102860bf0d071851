import { ApiError } from '../errors.ts'

/** Deepest nesting of JSON accepted from a client: deeper values break `JSON.stringify` long after they were parsed. */
export const JSON_DEPTH_MAX = 64

/**
 * Most values that a body may hold, where an array or object counts twice: each costs far more memory and work than its bytes. A
 * conversation of 10,000 items of ten members fits.
 */
export const JSON_VALUES_MAX = 200_000

/** Most members of one object: to list their names is one step, which no other work can interrupt. */
export const JSON_MEMBERS_MAX = 20_000

/** The state of a scan of JSON bytes. */
export type Scan = {
  bytes: Buffer
  /** The next byte. */
  at: number
  /** Containers that are open. */
  depth: number
  values: number
  /** Start of the string that the scan is in; -1 outside of strings. */
  text: number
  /** Whether a string may hold U+0000 or half of a surrogate pair; neither can without an escape. */
  suspicious: boolean
  /** Of the container open at each depth: how many commas it has had. */
  commas: number[]
  /** Where it opened, its latest comma and its latest colon; -1 for none. */
  opened: number[]
  comma: number[]
  colon: number[]
  /** The next quote and backslash, as far as they are known. */
  quote: number
  slash: number
}

/** Ready to scan `bytes` from their beginning. */
export function newScan(bytes: Buffer): Scan {
  const none = () => new Array<number>(JSON_DEPTH_MAX + 1).fill(-1)
  return {
    bytes,
    at: 0,
    depth: 0,
    values: 1,
    text: -1,
    suspicious: false,
    opened: none(),
    commas: none(),
    comma: none(),
    colon: none(),
    quote: -1,
    slash: -1,
  }
}

/** For texts that are scanned in one go: nothing of an earlier scan is looked at, but by its own depth. */
const NOTHING = Buffer.alloc(0)
const reused = newScan(NOTHING)

/** Scans a whole text in one go. Throws as `scan` does, and for what is not closed at its end. */
export function scanWhole(bytes: Buffer): Pick<Scan, 'suspicious' | 'values'> {
  reused.bytes = bytes
  reused.at = reused.depth = 0
  reused.values = 1
  reused.text = reused.quote = reused.slash = -1
  reused.suspicious = false
  try {
    scan(reused, { until: bytes.length, top: -1, text_bytes_max: bytes.length })
    if (reused.depth > 0 || reused.text >= 0) throw unreadableJson()
    return { suspicious: reused.suspicious, values: reused.values }
  } finally {
    reused.bytes = NOTHING
  }
}

export const [TAB, LINE_FEED, RETURN, SPACE, COMMA] = [0x09, 0x0a, 0x0d, 0x20, 0x2c]
export const [OPEN_ARRAY, BACKSLASH, CLOSE_ARRAY, SMALL_U] = [0x5b, 0x5c, 0x5d, 0x75]
const [QUOTE, ZERO, COLON, SMALL_D, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x30, 0x3a, 0x64, 0x7b, 0x7d]

/** `text`: a string longer than `text_bytes_max` began at `from` and ends at the position of the scan. */
export type Stop = { kind: 'more' } | { kind: 'closed' } | { kind: 'text'; from: number }
const MORE: Stop = { kind: 'more' }
const CLOSED: Stop = { kind: 'closed' }

/**
 * Scans until `until` at least, or until the container at depth `top` closes, or behind a long string. Every byte is looked at once. It
 * finds the structure alone: what is not JSON for another reason is left to `JSON.parse`.
 * Throws ApiError `invalid_value` for depth, number of values and members of an object, `invalid_json` for a bracket that closes nothing.
 */
export function scan(state: Scan, { until, top, text_bytes_max }: Limits): Stop {
  const { bytes } = state
  let { at } = state
  while (at < until) {
    const from = state.text
    if (from >= 0) {
      at = skipText(state, at, until)
      if (state.text >= 0 || at - from <= text_bytes_max) continue
      state.at = at
      return { kind: 'text', from }
    }
    const byte = bytes[at]!
    if (byte === QUOTE) state.text = at
    else if (byte === COMMA) {
      state.comma[state.depth] = at
      countValue(state)
      countMember(state)
    } else if (byte === COLON) state.colon[state.depth] = at
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) open(state, at)
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      if (state.depth === top) {
        state.at = at + 1
        return CLOSED
      }
      if (state.depth === 0) throw unreadableJson()
      state.depth -= 1
    }
    at += 1
  }
  state.at = at
  return MORE
}

type Limits = { until: number; top: number; text_bytes_max: number }

export function unreadableJson(): ApiError {
  return new ApiError(
    'invalid_json',
    'We could not parse the JSON body of your request. Send one JSON object in UTF-8.',
  )
}

function open(state: Scan, at: number): void {
  if (state.depth === JSON_DEPTH_MAX) {
    throw new ApiError('invalid_value', `Invalid body: JSON may be nested at most ${JSON_DEPTH_MAX} levels deep.`)
  }
  state.depth += 1
  state.commas[state.depth] = 0
  state.opened[state.depth] = at
  state.comma[state.depth] = state.colon[state.depth] = -1
  countValue(state)
}

function countValue(state: Scan): void {
  state.values += 1
  if (state.values <= JSON_VALUES_MAX) return
  const message = `Invalid body: it holds more than ${JSON_VALUES_MAX} values. Send fewer, or longer texts instead of many.`
  throw new ApiError('invalid_value', message)
}

function countMember(state: Scan): void {
  const { bytes, commas, depth, opened } = state
  if (++commas[depth]! < JSON_MEMBERS_MAX || bytes[opened[depth]!] !== OPEN_OBJECT) return
  const message = `Invalid body: an object in it has more than ${JSON_MEMBERS_MAX} members. Send fewer, or an array.`
  throw new ApiError('invalid_value', message)
}

/** Bytes looked at one by one before the search for the end of a long string begins. */
const SHORT = 32

/** Goes on within a string: to behind its closing quote, or to about `until`. */
function skipText(state: Scan, from: number, until: number): number {
  const { bytes } = state
  let at = from
  let short_until = at + SHORT
  while (at < until) {
    const byte = bytes[at]!
    if (byte === QUOTE) {
      state.text = -1
      return at + 1
    }
    if (byte === BACKSLASH) {
      if (bytes[at + 1] === SMALL_U && isSuspicious(bytes, at + 2)) state.suspicious = true
      at += 2
      short_until = at + SHORT
    } else if (at < short_until) at += 1
    else at = Math.min(nextQuote(state, at), nextSlash(state, at))
  }
  return at
}

function nextQuote(state: Scan, at: number): number {
  if (state.quote < at) state.quote = indexOf(state.bytes, QUOTE, at)
  return state.quote
}

function nextSlash(state: Scan, at: number): number {
  if (state.slash < at) state.slash = indexOf(state.bytes, BACKSLASH, at)
  return state.slash
}

function indexOf(bytes: Buffer, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from)
  return found === -1 ? bytes.length : found
}

/** Whether four hexadecimal digits are U+0000 or may be a surrogate. */
function isSuspicious(bytes: Buffer, at: number): boolean {
  const [first, second] = [bytes[at]!, bytes[at + 1]!]
  if (first === ZERO) return second === ZERO && bytes[at + 2] === ZERO && bytes[at + 3] === ZERO
  return (first | 0x20) === SMALL_D && second >= 0x38
}
