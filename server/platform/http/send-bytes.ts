import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Blobs } from '../blobs/blobs.ts'
import { ApiError } from '../errors.ts'
import { openShares } from '../fair-queue.ts'
import { abortOnLeaving, isDisconnected } from './abort-on-disconnect.ts'
import { chooseRange } from './byte-range.ts'

/** Bytes to send: a blob and how a client should see it. */
export type BlobContent = {
  /** Whose bytes they are. */
  org_id: string
  blob_key: string
  size_bytes: number
  /** Lower-case hex; becomes the entity tag. */
  sha256: string
  media_type: string
  /** `attachment` makes browsers save it, `inline` may show it. */
  disposition: 'attachment' | 'inline'
  /** Null: whoever saves it names it. */
  filename: string | null
  /** Further headers, lower case. */
  headers?: Record<string, string>
  /** Whose places a reader takes. */
  places?: Places
}

/** Those of the people and keys of the organization, of the engines of its jobs, or of whoever was given a share link, by network. */
export type Places = 'own' | 'engine' | { network: string }

/** A reader that takes nothing for this long is cut off; players that paused come back with a range. */
export const IDLE_SECONDS = 300

/**
 * Answers GET and HEAD with the content, a range of it, or 304, no faster than the reader drains, and returns the sent reply; or leaves
 * the bytes to the reverse proxy, where that offers to send them.
 * Throws ApiError `range_not_satisfiable`, or BlobMissing before anything was sent.
 * Source: contract 5.5; headers against sniffing and script: docs/api/files.md, content.
 */
export async function sendBytes(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  blobs: Blobs,
  content: BlobContent,
): Promise<FastifyReply> {
  const { size_bytes: size, blob_key } = content
  const etag = `"${content.sha256}"`
  const answer = chooseRange(rangeRequest(request), { size, etag })
  if (answer.status === 416) {
    const headers = { 'content-range': `bytes */${size}`, 'accept-ranges': 'bytes' }
    throw new ApiError('range_not_satisfiable', `The range lies outside the content, which has ${size} bytes.`, {
      headers,
    })
  }
  const headers: Record<string, string> = { etag, ...COMMON, ...content.headers }
  if (answer.status !== 304) {
    headers['content-type'] = content.media_type
    headers['content-length'] = String(answer.end - answer.start + 1)
    headers['content-disposition'] = contentDisposition(content.disposition, content.filename)
    if (answer.status === 206) headers['content-range'] = `bytes ${answer.start}-${answer.end}/${size}`
  }
  const hasBody = answer.status !== 304 && request.method !== 'HEAD'
  const path = hasBody && takesPath(request) ? await blobs.proxyPath?.(blob_key) : null
  if (path) {
    // The proxy adds these itself, from the file and the request it has.
    const { 'content-length': _, 'content-range': __, 'accept-ranges': ___, ...rest } = headers
    await write(reply, { status: 200, headers: { ...rest, 'x-accel-redirect': path } }, null)
    return reply
  }
  const head = { status: answer.status, headers }
  if (hasBody) {
    const send = () => write(reply, head, (out) => blobs.send(blob_key, answer, out))
    await readInTurn(content, send, abortOnLeaving(reply).signal)
  } else {
    await write(reply, head, null)
  }
  return reply
}

/**
 * Readers of one organization that are sent bytes at a time; others wait for one of them to end. Each that stops reading takes some MB of the
 * kernel's memory, and a few ms to come to that.
 */
const READERS_MAX = { own: 256, engine: 256, viewer: 64 }
/** Viewers of one network: an office that looks at a clip, but nobody takes all places of an organization that shares one. */
const VIEWERS_OF_NETWORK_MAX = 16
const readInTurnOf = {
  own: openShares({ each: READERS_MAX.own }),
  engine: openShares({ each: READERS_MAX.engine }),
  viewer: openShares({ each: READERS_MAX.viewer }),
  network: openShares({ each: VIEWERS_OF_NETWORK_MAX }),
}

/** Viewers and engines have places of their own: viewers delay no download of the organization, and downloads delay no job. */
function readInTurn(
  { org_id, places = 'own' }: BlobContent,
  send: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  if (typeof places === 'string') return readInTurnOf[places](org_id, send, signal)
  const asViewer = () => readInTurnOf.viewer(org_id, send, signal)
  return readInTurnOf.network(`${org_id} ${places.network}`, asViewer, signal)
}

/**
 * Whether a proxy sends the bytes itself, given a path: nginx says so in each request. One that comes past it, from an engine for
 * instance, does not, and is sent the bytes. Source: docs/operating/proxies.md.
 */
function takesPath({ headers }: FastifyRequest): boolean {
  return headers['x-sendfile-type'] === 'X-Accel-Redirect'
}

/** The name in ASCII for old clients and in full for the rest. Source: RFC 6266, RFC 8187. */
function contentDisposition(disposition: BlobContent['disposition'], filename: string | null): string {
  if (filename === null) return disposition
  const ascii = filename.replace(/[^\x20-\x7e]/g, '_').replace(/["\\]/g, '_')
  const plain = `${disposition}; filename="${ascii}"`
  if (ascii === filename) return plain
  const full = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16)}`,
  )
  return `${plain}; filename*=UTF-8''${full}`
}

const COMMON = {
  'accept-ranges': 'bytes',
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
}

function rangeRequest({ method, headers }: FastifyRequest) {
  const { range, 'if-range': if_range, 'if-none-match': if_none_match } = headers
  return { method, range, if_range: if_range as string | undefined, if_none_match }
}

type Head = { status: number; headers: Record<string, string> }

/** Past Fastify, whose streams cost twice as much. As long as nothing was sent an error can still become an answer of its own. */
async function write(reply: FastifyReply, head: Head, body: ((out: FastifyReply['raw']) => Promise<void>) | null) {
  const { raw } = reply
  raw.statusCode = head.status
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...head.headers })) {
    if (value !== undefined) raw.setHeader(name, value)
  }
  raw.setTimeout(IDLE_SECONDS * 1000, () => raw.destroy())
  try {
    await body?.(raw)
  } catch (error) {
    if (!isDisconnected(reply)) {
      if (!raw.headersSent) for (const name of raw.getHeaderNames()) raw.removeHeader(name)
      throw error
    }
  }
  reply.hijack()
  raw.end()
}
