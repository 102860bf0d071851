import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parsePieces } from './json-pieces.ts'
import { newScan, scanWhole, unreadable } from './json-scan.ts'
import { requireSafeJson } from './validate.ts'

/** Texts up to this are parsed at once: the worst of them takes a few milliseconds. */
const AT_ONCE_BYTES_MAX = 64 * 1024
/** Longest that parsing goes on before other work has its turn. */
const TURN_MILLISECONDS = 5

/**
 * Parses a JSON text of a client; depth and number of values are checked before anything is built. A large text is parsed in pieces with
 * other work between them, and gives a promise, so that no size holds the event loop.
 * Throws, or rejects with, ApiError `invalid_json`, or `invalid_value` for what JSON allows and we cannot keep. Source: contract 1.1.
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw unreadable()
  if (bytes.length > AT_ONCE_BYTES_MAX) return parseLarge(bytes)
  const suspicious = scanWhole(bytes)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw unreadable()
  }
  if (suspicious) requireSafeJson(value)
  return value
}

async function parseLarge(bytes: Buffer): Promise<unknown> {
  const state = newScan(bytes)
  const pieces = parsePieces(state)
  let since = performance.now()
  let step = pieces.next()
  while (!step.done) {
    if (performance.now() - since > TURN_MILLISECONDS) {
      await nextTurn()
      since = performance.now()
    }
    step = pieces.next()
  }
  if (state.suspicious) requireSafeJson(step.value)
  return step.value
}
