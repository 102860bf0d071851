import { asRecord, isRecord } from '../../../platform/json/record.ts'
import { errorDetail } from '../../reply-error.ts'
import { WAIT_MS } from '../openai/end-timer.ts'
import { unwrapped } from '../openai/read/completion.ts'
import { statusOfError, unreadable } from '../openai/read/error.ts'
import { beginsJson, jsonEnd, readJson } from '../openai/read/json-end.ts'
import { saysError } from '../openai/read/remarks.ts'
import { asEvents, asTheyAre, eventsOf, nextPiece, type Pieces, streamOf } from './reply-stream.ts'

/** A whole answer in JSON, although a stream was asked for. It is thrown through the package, which would read it as an empty stream. */
export class WholeAnswer extends Error {
  readonly json: string
  constructor(json: string) {
    super('The model server sent no stream.')
    this.json = json
  }
}

/**
 * The same `fetch` for packages, which find no events in JSON. An error under status 200 gets the status that it means, JSON for each chunk
 * becomes events, and a whole answer is thrown as `WholeAnswer`. What is complete is not waited for longer, although the connection stays
 * open.
 */
export function withJsonReplies(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const { ok, body, status, headers } = response
    if (!ok || body === null) return response
    const pieces = body.getReader()
    const begun: Uint8Array[] = []
    const text = await readFirstJson(pieces, begun)
    if (text === null) return new Response(streamOf(begun, pieces, asTheyAre()), { status, headers })
    const value = parsed(text)
    const isStream = value === undefined || isChunk(value)
    const next = isStream || isError(value) ? undefined : await nextOf(pieces)
    if (isStream || next != null)
      return new Response(streamOf(next ? [...begun, next] : begun, pieces, asEvents()), { status, headers })
    await pieces.cancel()
    if (next === undefined) return new Response(text, { status: statusOfError(value), headers })
    if (Array.isArray(value)) return new Response(eventsOf(text), { status, headers })
    throw new WholeAnswer(JSON.stringify(unwrapped(asRecord(value))))
  }
}

/** Reads into `begun` until an object or a list has ended. Null when the body is something else, or ends before. Throws EngineError for a page. */
async function readFirstJson(pieces: Pieces, begun: Uint8Array[]): Promise<string | null> {
  const decoder = new TextDecoder()
  const state = jsonEnd()
  let text = ''
  while (!state.ended) {
    const { done, value } = await pieces.read()
    if (done) return null
    begun.push(value)
    const more = decoder.decode(value, { stream: true })
    text += more
    if (beginsJson(text)) readJson(state, state.depth === 0 ? text : more)
    else if (/\S/.test(text)) break
  }
  if (state.ended) return text
  if (!PAGE.test(text)) return null
  await pieces.cancel()
  throw unreadable()
}

const PAGE = /^\s*</

/** Undefined for several texts. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isChunk(value: unknown): boolean {
  const { choices } = asRecord(value) ?? {}
  return (
    Array.isArray(choices) &&
    choices.some((choice) => isRecord(choice) && isRecord(choice.delta) && !isRecord(choice.message))
  )
}

function isError(value: unknown): boolean {
  const object = asRecord(value)
  const answer = unwrapped(object)
  if (answer !== object || (Array.isArray(object?.choices) && object.choices.length > 0)) return false
  const detail = errorDetail(value)
  return detail.message !== '' || saysError(detail)
}

/** What follows JSON that is complete: null when there is only space, or silence. */
async function nextOf(pieces: Pieces): Promise<Uint8Array | null> {
  for (;;) {
    const piece = await nextPiece(pieces, WAIT_MS.nothing)
    if (piece === null || piece.some((byte) => byte > SPACE)) return piece
  }
}

const SPACE = 0x20
