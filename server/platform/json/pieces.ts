import { ApiError } from '../errors.ts'
import {
  BACKSLASH,
  CLOSE_ARRAY,
  COMMA,
  LINE_FEED,
  OPEN_ARRAY,
  RETURN,
  type Scan,
  SMALL_U,
  SPACE,
  scan,
  TAB,
  unreadableJson,
} from './scan.ts'

/** About what is scanned or given to `JSON.parse` in one go. */
const PIECE_BYTES = 64 * 1024
const NAME_BYTES_MAX = 64 * 1024
/** White space or a number as long as this is nothing that a client writes. */
const GAP_BYTES_MAX = 1024 * 1024

/** A container too large for one go: it is filled piece by piece. */
type Frame = {
  into: unknown[] | Record<string, unknown>
  /** Whether it has a member already. */
  filled: boolean
  /** Whether a member ends where the unparsed text begins, so that a comma or the end has to follow. */
  complete: boolean
}

/** `start`: where the text begins that is scanned but not yet parsed. `frames[0]` holds the whole text as its only member. */
type Build = { state: Scan; frames: Frame[]; start: number; piece_bytes: number }

/**
 * Parses JSON as `JSON.parse` would, and yields wherever other work may have its turn. Each byte is scanned once and parsed once: runs of
 * whole members go to `JSON.parse`, and only what is larger than a piece is split. Throws ApiError as `scan` does.
 */
export function* parsePieces(state: Scan, piece_bytes = PIECE_BYTES): Generator<void, unknown> {
  const { bytes } = state
  const build: Build = { state, frames: [frameOf([])], start: 0, piece_bytes }
  while (state.at < bytes.length) {
    const top = build.frames.length - 1
    const until = Math.min(state.at + piece_bytes, bytes.length)
    const stop = scan(state, { until, top: top === 0 ? -1 : top, text_bytes_max: piece_bytes })
    if (stop.kind === 'closed') closeFrame(build)
    else if (stop.kind === 'text') yield* addText(build, stop.from)
    else if (state.at - build.start >= piece_bytes) reduce(build)
    yield
  }
  if (state.depth > 0 || state.text >= 0 || state.comma[0] !== -1) throw unreadableJson()
  const root = build.frames[0]!.into as unknown[]
  flush(build, bytes.length, true)
  if (root.length !== 1) throw unreadableJson()
  return root[0]
}

function frameOf(into: Frame['into']): Frame {
  return { into, filled: false, complete: false }
}

const topOf = ({ frames }: Build) => frames.at(-1)!

/** Parses the complete members of the scanned text; a first member that is too large becomes a frame. */
function reduce(build: Build): void {
  const { state, frames, piece_bytes } = build
  while (state.at - build.start >= piece_bytes) {
    const top = frames.length - 1
    flushToComma(build, top)
    if (state.at - build.start < piece_bytes) return
    if (state.depth > top) openFrame(build)
    else {
      build.start = skipSpace(state.bytes, build.start, state.at)
      if (state.text < 0 && state.at - build.start > GAP_BYTES_MAX) throw unreadableJson()
      return
    }
  }
}

function openFrame(build: Build): void {
  const { state, frames } = build
  const from = state.opened[frames.length]!
  const isArray = state.bytes[from] === OPEN_ARRAY
  const into = isArray ? [] : {}
  attach(build, from, into)
  frames.push(frameOf(into))
  build.start = from + 1
}

/** Called when the scan is just past the bracket that closes the container on top. */
function closeFrame(build: Build): void {
  const { state, frames } = build
  const end = state.at - 1
  const closesArray = state.bytes[end] === CLOSE_ARRAY
  if (closesArray !== Array.isArray(topOf(build).into)) throw unreadableJson()
  flush(build, end, true)
  frames.pop()
  state.depth -= 1
  build.start = state.at
  topOf(build).complete = true
}

/** Adds the long string that begins at the quote `from` and ends at the position of the scan. */
function* addText(build: Build, from: number): Generator<void> {
  const { state, frames } = build
  while (frames.length - 1 < state.depth) {
    flushToComma(build, frames.length - 1)
    openFrame(build)
  }
  flushToComma(build, state.depth)
  const { at, colon, depth } = state
  if (!Array.isArray(topOf(build).into) && colon[depth]! < build.start) {
    if (at - from <= NAME_BYTES_MAX) return
    throw new ApiError('invalid_value', `Invalid body: a member name may have at most ${NAME_BYTES_MAX} bytes.`)
  }
  const text = yield* decode(build, from + 1, at - 1)
  attach(build, from, text)
  build.start = at
  topOf(build).complete = true
}

/** Adds a member whose value begins at `from` to the container on top; its name is all that is unparsed before it. */
function attach(build: Build, from: number, value: unknown): void {
  const { state, frames } = build
  const frame = topOf(build)
  if (frame.complete) throw unreadableJson()
  frame.filled = true
  if (Array.isArray(frame.into)) {
    requireSpace(build, from)
    frame.into.push(value)
    return
  }
  const colon = state.colon[frames.length - 1]!
  if (colon < build.start) throw unreadableJson()
  const name = parse(state.bytes.toString('utf8', build.start, colon))
  build.start = colon + 1
  requireSpace(build, from)
  if (typeof name !== 'string') throw unreadableJson()
  setMember(frame.into, name, value)
}

function flushToComma(build: Build, depth: number): void {
  const comma = build.state.comma[depth]!
  if (comma < build.start) return
  // Only one value is the whole text.
  if (depth === 0) throw unreadableJson()
  flush(build, comma, false)
  build.start = comma + 1
}

/** Parses the members up to `end`, a comma or, as `last`, the end of the container. */
function flush(build: Build, end: number, last: boolean): void {
  const frame = topOf(build)
  if (frame.complete) {
    const { bytes } = build.state
    build.start = skipSpace(bytes, build.start, end)
    if (build.start === end) {
      frame.complete = last
      return
    }
    if (bytes[build.start] !== COMMA) throw unreadableJson()
    build.start += 1
    frame.complete = false
  }
  const added = addMembers(frame.into, build.state.bytes.toString('utf8', build.start, end))
  if (added === 0 && (!last || frame.filled)) throw unreadableJson()
  frame.filled = true
}

/** Returns how many there were. */
function addMembers(into: Frame['into'], text: string): number {
  if (Array.isArray(into)) {
    const more = parse(`[${text}]`) as unknown[]
    for (const each of more) into.push(each)
    return more.length
  }
  const more = parse(`{${text}}`) as Record<string, unknown>
  let count = 0
  for (const name in more) {
    setMember(into, name, more[name])
    count += 1
  }
  return count
}

/** As `JSON.parse` does: of two members of one name the last stays, and `__proto__` is a name like any other. */
function setMember(into: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') into[name] = value
  else Object.defineProperty(into, name, { value, writable: true, enumerable: true, configurable: true })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw unreadableJson()
  }
}

const isSpace = (byte: number) => byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB

/** The first byte from `start` on that is no white space, at most `end`. */
function skipSpace(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (at < end && isSpace(bytes[at]!)) at += 1
  return at
}

function requireSpace({ state, start }: Build, end: number): void {
  if (skipSpace(state.bytes, start, end) < end) throw unreadableJson()
}

/** The value of a string whose characters are the bytes from `start` to `end`. */
function* decode({ state, piece_bytes }: Build, start: number, end: number): Generator<void, string> {
  const { bytes } = state
  const parts: string[] = []
  for (let at = start; at < end; ) {
    const cut = cutOf(bytes, { start: at, wanted: at + piece_bytes, end })
    parts.push(parse(`"${bytes.toString('utf8', at, cut)}"`) as string)
    at = cut
    yield
  }
  return parts.join('')
}

/** Where a piece may end: between two characters, not within an escape. */
function cutOf(bytes: Buffer, { start, wanted, end }: { start: number; wanted: number; end: number }): number {
  if (wanted >= end) return end
  let at = wanted
  if (bytes.subarray(start, wanted).includes(BACKSLASH)) {
    at = start
    while (at < wanted) at += bytes[at] !== BACKSLASH ? 1 : bytes[at + 1] === SMALL_U ? 6 : 2
  }
  while ((bytes[at]! & 0xc0) === 0x80) at += 1
  return Math.min(at, end)
}
