import { asRecord, isRecord, jsonIn } from '../../../platform/json/record.ts'
import { errorDetail } from '../../reply-error.ts'
import { WAIT_MS } from '../openai/end-timer.ts'
import { unwrapped } from '../openai/read/completion.ts'
import { statusOfError, unreadable } from '../openai/read/error.ts'
import { beginsJson, jsonEnd, readJson } from '../openai/read/json-end.ts'
import { saysError } from '../openai/read/remarks.ts'
import { errorIn, eventWriter } from './event-writer.ts'
import { asEvents, asTheyAre, nextPiece, type PieceReader, type Pieces, streamOf } from './reply-stream.ts'

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
    const streamed = (reading: PieceReader) => new Response(streamOf(begun, pieces, reading), { status, headers })
    const text = await readFirstJson(pieces, begun)
    if (text === null) return streamed(isBinary(begun) ? asTheyAre() : asEvents())
    const value = jsonIn(text)
    if (value === undefined || isChunk(value)) return streamed(asEvents())
    const error = errorOf(value)
    if (error === null) {
      const next = await nextOf(pieces)
      if (next !== null) {
        begun.push(next)
        return streamed(asEvents())
      }
    }
    await pieces.cancel()
    if (error !== null) return new Response(JSON.stringify(error), { status: statusOfError(error), headers })
    if (Array.isArray(value)) return new Response(eventWriter().of({ data: text, name: '' }), { status, headers })
    throw new WholeAnswer(JSON.stringify(unwrapped(asRecord(value))))
  }
}

/**
 * Reads into `begun` until an object or a list has ended, also after comments. Null when the body is something else, or ends before. Throws
 * EngineError for a page.
 */
async function readFirstJson(pieces: Pieces, begun: Uint8Array[]): Promise<string | null> {
  const decoder = new TextDecoder()
  const state = jsonEnd()
  let text = ''
  while (!state.ended) {
    const { done, value } = await pieces.read()
    if (done) return null
    begun.push(value)
    if (isBinary(begun)) return null
    const more = decoder.decode(value, { stream: true })
    text += more
    if (state.depth === 0) text = text.replace(COMMENTS, '')
    if (beginsJson(text)) readJson(state, state.depth === 0 ? text : more)
    else if (!BLANK_OR_COMMENT.test(text)) break
  }
  if (state.ended) return text
  if (!PAGE.test(text)) return null
  await pieces.cancel()
  throw unreadable()
}

/** Whole comments, and the beginning of one. */
const COMMENTS = /^(\s*:[^\r\n]*[\r\n])+/
const BLANK_OR_COMMENT = /^\s*(:[^\r\n]*)?$/
const PAGE = /^\s*</

/** No text begins with such a byte, which is one of a length in AWS's event streams. */
function isBinary([first]: readonly Uint8Array[]): boolean {
  return first?.[0] === 0
}

/** Whether more is to follow: a message may be one piece of several, too. */
function isChunk(value: unknown): boolean {
  const { object, choices } = asRecord(value) ?? {}
  if (!Array.isArray(choices)) return false
  if (object === 'chat.completion.chunk') return choices.length > 0
  return choices.some((choice) => isRecord(choice) && isRecord(choice.delta) && !isRecord(choice.message))
}

/** The error in the place of an answer, or of its choice; null for none. */
function errorOf(value: unknown): unknown {
  const object = asRecord(value)
  const answer = unwrapped(object)
  if (answer !== null && (answer !== object || (Array.isArray(answer.choices) && answer.choices.length > 0))) {
    const error = errorIn(answer)
    return error === null ? null : { error }
  }
  const detail = errorDetail(value)
  return detail.message !== '' || saysError(detail) ? value : null
}

/** What follows JSON that is complete: null when there is only space, or silence. */
async function nextOf(pieces: Pieces): Promise<Uint8Array | null> {
  for (;;) {
    const piece = await nextPiece(pieces, WAIT_MS.nothing)
    if (piece === null || piece.some((byte) => byte > SPACE)) return piece
  }
}

const SPACE = 0x20
