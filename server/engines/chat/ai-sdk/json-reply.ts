import { asRecord } from '../../../platform/json/record.ts'
import { errorDetail } from '../../reply-error.ts'
import { WAIT_MS } from '../openai/end-timer.ts'
import { unwrapped } from '../openai/read/completion.ts'
import { statusOfError } from '../openai/read/error.ts'
import { beginsJson, jsonEnd, jsonValues, readJson } from '../openai/read/json-end.ts'
import { saysError } from '../openai/read/remarks.ts'
import { sseParser } from '../openai/sse-parser.ts'

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
 * becomes events, and a whole answer is thrown as `WholeAnswer`. JSON is complete with its last bracket, and a stream with `[DONE]`, although
 * the connection stays open.
 */
export function withJsonReplies(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const { ok, body, status, headers } = response
    if (!ok || body === null) return response
    const pieces = body.getReader()
    const begun: Uint8Array[] = []
    const text = await readFirstJson(pieces, begun)
    if (text === null) return new Response(streamOf(begun, pieces, untilDone()), { status, headers })
    const value = parsed(text)
    const next = value === undefined || isError(value) ? undefined : await nextOf(pieces)
    if (value === undefined || next != null)
      return new Response(streamOf(next ? [...begun, next] : begun, pieces, asEvents()), { status, headers })
    await pieces.cancel()
    if (next === undefined) return new Response(text, { status: statusOfError(value), headers })
    if (Array.isArray(value)) return new Response(eventsOf(text), { status, headers })
    throw new WholeAnswer(JSON.stringify(unwrapped(asRecord(value))))
  }
}

type Pieces = ReadableStreamDefaultReader<Uint8Array>

/** Reads into `begun` until an object or a list has ended. Null when the body is something else, or ends before. */
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
    else if (/\S/.test(text)) return null
  }
  return text
}

/** Undefined for several texts. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
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
    const silence = Promise.withResolvers<{ done: true; value: undefined }>()
    const timer = setTimeout(silence.resolve, WAIT_MS.nothing, { done: true, value: undefined })
    const { done, value } = await Promise.race([pieces.read(), silence.promise]).finally(() => clearTimeout(timer))
    if (done) return null
    if (value.some((byte) => byte > SPACE)) return value
  }
}

const SPACE = 0x20

/** Reads a piece of the body, or null at its end. `is_last`: nothing is read after it. */
type Reading = (piece: Uint8Array | null) => { bytes: Uint8Array; is_last: boolean }

/** A body of which `begun` has been read. */
function streamOf(begun: readonly Uint8Array[], rest: Pieces, read: Reading): ReadableStream<Uint8Array> {
  const left = [...begun]
  const next = async () => left.shift() ?? (await rest.read()).value ?? null
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const piece = await next()
        const { bytes, is_last } = read(piece)
        if (bytes.length > 0) controller.enqueue(bytes)
        if (piece === null || is_last) {
          controller.close()
          return rest.cancel()
        }
        if (bytes.length > 0) return
      }
    },
    cancel: () => rest.cancel(),
  })
}

function untilDone(): Reading {
  let tail = ''
  return (piece) => {
    const bytes = piece ?? NONE
    tail = (tail + Buffer.from(bytes.subarray(-DONE_BYTES)).toString('latin1')).slice(-DONE_BYTES)
    return { bytes, is_last: DONE.test(tail) }
  }
}

const NONE = new Uint8Array()
const DONE = /[\r\n]data: ?\[DONE\]\s*$/
const DONE_BYTES = 24

/** JSON for each chunk as events. */
function asEvents(): Reading {
  let text = ''
  const lines = sseParser(({ data }) => {
    text += eventsOf(data)
  })
  return (piece) => {
    text = ''
    if (piece === null) lines.end()
    else lines.feed(Buffer.from(piece))
    return { bytes: Buffer.from(text), is_last: false }
  }
}

function eventsOf(json: string): string {
  if (!/^\s*[{[]\s*["{}\]]/.test(json)) return ''
  const objects = [...jsonValues(json)].flat()
  return objects.map((object) => `data: ${JSON.stringify(object)}\n\n`).join('')
}
