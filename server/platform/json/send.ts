import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { abortOnLeaving } from '../http/abort-on-disconnect.ts'
import { writeJson } from './write.ts'

/** Characters or bytes that are sent at once. */
const SLICE_LENGTH = 256 * 1024
/** A client that takes nothing of a large answer for this long is cut off, as it is from a stream: the answer waits in memory. */
const STALLED_SECONDS = 30

/** Answers with a value as JSON, which is written until the client leaves: see `writeJson`. */
export async function sendJson(reply: FastifyReply, value: object): Promise<FastifyReply> {
  const text = writeJson(value, abortOnLeaving(reply).signal)
  return sendParts(reply, typeof text === 'string' ? [text] : await text)
}

/** Answers with JSON that is written already, in parts. A large one is sent no faster than the client takes it. */
export function sendParts(reply: FastifyReply, parts: ReadonlyArray<string | Buffer>): FastifyReply {
  const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0)
  reply.type('application/json; charset=utf-8')
  if (bytes <= SLICE_LENGTH) return reply.send(parts.join(''))
  reply.header('content-length', bytes)
  reply.raw.setTimeout(STALLED_SECONDS * 1000, () => reply.raw.destroy())
  return reply.send(Readable.from(slicesOf(parts)))
}

function* slicesOf(parts: ReadonlyArray<string | Buffer>): Generator<Buffer> {
  for (const part of parts) {
    for (let from = 0; from < part.length; ) {
      let to = Math.min(from + SLICE_LENGTH, part.length)
      if (typeof part === 'string' && to < part.length && (part.charCodeAt(to - 1) & 0xfc00) === 0xd800) to -= 1
      yield typeof part === 'string' ? Buffer.from(part.slice(from, to)) : part.subarray(from, to)
      from = to
    }
  }
}
