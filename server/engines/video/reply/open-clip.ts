import { parseExact } from '../../../platform/json/parse-exact.ts'
import { isRecord } from '../../../platform/json/record.ts'
import { type EngineClient, publicRequest } from '../../../platform/outbound/client.ts'
import { discard, type OutboundReply } from '../../../platform/outbound/exchange.ts'
import { HOPS_MAX, locationOf } from '../../../platform/outbound/redirect.ts'
import { EngineError } from '../../engine-error.ts'
import { callError, statusError, unreadableReply } from '../../reply-error.ts'
import type { JsonValue, RenderState } from '../contract.ts'
import { clipInside, HEAD_BYTES, isClip } from './clip-bytes.ts'
import { findVideoUrl } from './clip-url.ts'
import { readState } from './read.ts'

/** A path of the engine, below its address, or a URL as a reply gave it. */
export type ClipPlace = { path: string } | { url: string }

/** `trusted_origins`: where an output may come from besides the engine's own origin and public hosts. */
type OutputOptions = { trusted_origins?: readonly string[] | undefined }

/** Bounds one download. */
const OUTPUT_MS = 900_000
const OUTPUT_BYTES_MAX = 2 * 1024 ** 3

/** Where a finished render said that its clip is. */
export function outputUrl(output: JsonValue): string | null {
  return isRecord(output) && typeof output.url === 'string' ? output.url : null
}

/**
 * Opens a finished clip. What is answered is judged by its bytes, whatever type it is given; JSON may hold the clip itself. A redirect is
 * followed, and so is JSON that names the clip in place of it, five of them in all, each as one more URL from a reply: another host must be
 * public and never gets the engine's credential. Where the clip cannot be had at one of the places, now or ever, the next is tried.
 * Throws EngineError: `transient` or `unreachable` where a later try may succeed.
 */
export async function openClip(
  client: EngineClient,
  places: readonly [ClipPlace, ...ClipPlace[]],
  options: OutputOptions,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  let fault: unknown
  for (const place of places) {
    try {
      return await follow(client, place, options, signal)
    } catch (error) {
      const found = callError(error)
      if (!(found instanceof NotThere) && !isTransient(found)) throw found
      if (fault === undefined || (isTransient(found) && !isTransient(fault))) fault = found
    }
  }
  throw fault
}

function isTransient(fault: unknown): boolean {
  return fault instanceof EngineError && (fault.kind === 'transient' || fault.kind === 'unreachable')
}

/** The host answered that the clip cannot be had at this URL. */
class NotThere extends EngineError {}

async function follow(
  client: EngineClient,
  place: ClipPlace,
  options: OutputOptions,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  let at = 'path' in place ? place.path : client.resolve('/', place.url)
  for (let hops = 0; hops <= HOPS_MAX; hops++) {
    const reply = await open(client, at, options, signal)
    const found = locationOf(reply) ?? (await clipOrUrl(reply))
    if (typeof found !== 'string') return found
    await discard(reply)
    at = client.resolve(at, found)
  }
  throw new NotThere('permanent', 'The clip is behind too many redirects.', { engine_code: 'too_many_redirects' })
}

function open(
  client: EngineClient,
  at: string,
  { trusted_origins = [] }: OutputOptions,
  signal: AbortSignal,
): Promise<OutboundReply> {
  const limits = { max_bytes: OUTPUT_BYTES_MAX, timeout_ms: OUTPUT_MS }
  if (at.startsWith('/') || client.owns(at)) return client.open(at, limits, signal)
  return publicRequest(at, { ...limits, trusted_origins, signal })
}

/** The bytes of a clip, or the URL that the host sent in their place. */
async function clipOrUrl(reply: OutboundReply): Promise<ReadableStream<Uint8Array> | string> {
  const { status, headers, media_type } = reply
  if (status < 200 || status > 299) {
    await discard(reply)
    const { kind, message, ...details } = statusError(status, headers, null)
    throw kind === 'transient' ? new EngineError(kind, message, details) : new NotThere(kind, message, details)
  }
  const { head, body } = await peek(reply.body)
  const begin = head.toString('latin1').trimStart()
  if (isClip(head)) return body
  if (/^([{["]|https?:\/\/|data:)/i.test(begin)) return urlOrClip(await readText(body))
  const fault = notAClip(begin, media_type)
  if (fault === null) return body
  await body.cancel().catch(() => {})
  throw fault
}

/** What is wrong with bytes that begin like this under this type; null where only the probe can say. */
function notAClip(begin: string, media_type: string | null): EngineError | null {
  if (media_type?.startsWith('video/')) return null
  if (begin === '' || begin.startsWith('<') || media_type?.startsWith('text/'))
    return unreadableReply('it is not a video')
  return media_type !== null && /^(image|audio)\//.test(media_type) ? noClip('a picture or a sound') : null
}

/** The URL or the clip in a reply that stands for the clip. Throws EngineError: the render may also not be finished, or be blocked. */
function urlOrClip(text: string): string | ReadableStream<Uint8Array> {
  if (/^\s*https?:\/\/\S+\s*$/.test(text)) return text.trim()
  const json = parseExact(text)
  const url = findVideoUrl(json, { named: true })
  if (url !== null) return url
  const clip = clipInside(json ?? text)
  if (clip !== null) return streamOf(clip)
  const state = stateIn(text, json)
  if (state?.state === 'failed' && state.error.kind === 'moderation') throw state.error
  if (state?.state === 'running' || (state?.state === 'failed' && state.error.kind === 'transient'))
    throw unreadableReply('the clip is not ready')
  throw noClip('JSON')
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes)
      controller.close()
    },
  })
}

/** What is said of the render in place of its clip; null when that cannot be read. */
function stateIn(text: string, json: unknown): RenderState | null {
  try {
    return readState({ status: 200, headers: {}, text, json }, {}, { url_needed: true })
  } catch (error) {
    if (error instanceof EngineError && error.engine_code === 'unreadable') return null
    throw error
  }
}

function noClip(what: string): EngineError {
  return new NotThere('permanent', `The engine answered with ${what} in place of the clip.`, {
    engine_code: 'no_video',
  })
}

/** A clip of 15 seconds as base64, with room. */
const TEXT_BYTES_MAX = 64 * 1024 * 1024

async function peek(body: ReadableStream<Uint8Array>): Promise<{ head: Buffer; body: ReadableStream<Uint8Array> }> {
  const reader = body.getReader()
  const read: Uint8Array[] = []
  let size = 0
  while (size < HEAD_BYTES) {
    const { done, value } = await reader.read()
    if (done) break
    read.push(value)
    size += value.length
  }
  const waiting = read.values()
  const rest = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = waiting.next()
        const next = value === undefined ? await reader.read() : { done: false as const, value }
        if (next.done) controller.close()
        else controller.enqueue(next.value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return { head: Buffer.concat(read), body: rest }
}

async function readText(body: ReadableStream<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > TEXT_BYTES_MAX) throw noClip('a long text')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
