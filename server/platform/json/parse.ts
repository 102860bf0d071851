import { isUtf8 } from 'node:buffer'
import { requireSafeJson, requireSafeJsonInTurns, type TextRepair } from '../schema/validate.ts'
import { nextTurn, turnTaker } from '../turns.ts'
import { joinInTurns, utf8Slices } from './bytes.ts'
import { parsePieces } from './pieces.ts'
import { newScan, scanWhole, unreadableJson } from './scan.ts'

/** Texts up to this are parsed at once: the worst of them takes a few milliseconds. */
export const AT_ONCE_BYTES_MAX = 64 * 1024
/** Longest that parsing goes on before other work has its turn. */
const TURN_MILLISECONDS = 5

/**
 * `repair`: see TextRepair. `signal` abandons a large text, for a client that has disconnected: the promise rejects with its reason.
 * `room` counts values, an array or object twice, those of a small text before any is built: what it returns is awaited.
 */
export type ParseOptions = {
  repair?: TextRepair
  signal?: AbortSignal
  room?: (values: number) => Promise<void> | undefined
}

/**
 * Parses a JSON text of a client; depth and number of values are checked before anything is built. A large text is parsed in pieces with
 * other work between them, and gives a promise, so that no size holds the event loop. A byte order mark is skipped.
 * Throws, or rejects with, ApiError `invalid_json`, or `invalid_value` for what JSON allows and we cannot keep. Source: contract 1.1.
 */
export function parseJson(marked: Buffer, options: ParseOptions = {}): unknown {
  const bytes = marked[0] === 0xef && marked[1] === 0xbb && marked[2] === 0xbf ? marked.subarray(3) : marked
  if (bytes.length > AT_ONCE_BYTES_MAX) return parseLarge(bytes, options)
  if (!isUtf8(bytes)) throw unreadableJson()
  const { suspicious, values } = scanWhole(bytes)
  const room = options.room?.(values)
  return room ? room.then(() => build(bytes, suspicious, options)) : build(bytes, suspicious, options)
}

function build(bytes: Buffer, suspicious: boolean, { repair }: ParseOptions): unknown {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw unreadableJson()
  }
  if (suspicious) requireSafeJson(value, repair)
  return value
}

/** The same for a body that came in pieces: many bytes are put together with other work between, too. */
export function parseJsonPieces(pieces: readonly Buffer[], size_bytes: number, options: ParseOptions = {}): unknown {
  if (size_bytes > JOINED_BYTES_MAX)
    return joinInTurns(pieces, options.signal).then((bytes) => parseJson(bytes, options))
  return parseJson(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, size_bytes), options)
}

/** Fewer bytes are put together in less than a millisecond. */
const JOINED_BYTES_MAX = 1024 * 1024

async function requireUtf8(bytes: Buffer, signal: AbortSignal | undefined): Promise<void> {
  const turn = turnTaker(1, signal)
  for (const slice of utf8Slices(bytes)) {
    if (!isUtf8(slice)) throw unreadableJson()
    const other = turn()
    if (other) await other
  }
}

async function parseLarge(bytes: Buffer, options: ParseOptions): Promise<unknown> {
  const { signal } = options
  await requireUtf8(bytes, signal)
  const state = newScan(bytes)
  const pieces = parsePieces(state)
  let since = performance.now()
  let counted = 0
  const countValues = () => {
    const more = state.values - counted
    counted = state.values
    return options.room?.(more)
  }
  let step = pieces.next()
  while (!step.done) {
    if (performance.now() - since > TURN_MILLISECONDS) {
      await countValues()
      await nextTurn(signal)
      since = performance.now()
    }
    step = pieces.next()
  }
  await countValues()
  if (state.suspicious) await requireSafeJsonInTurns(step.value, options)
  return step.value
}
