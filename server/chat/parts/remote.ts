import type { LookupFunction } from 'node:net'
import { type ApiError, overloaded } from '../../platform/errors.ts'
import type { Lease } from '../../platform/http/body/byte-budget.ts'
import { publicFetch } from '../../platform/outbound/client.ts'
import { OutboundError } from '../../platform/outbound/error.ts'
import { parsePublicUrl, requirePublicHost } from '../../platform/outbound/guard.ts'
import { type Budget, BYTES_MAX, gone, type PartSource, spendBudget } from './source.ts'

type Remote = PartSource & { from: 'url' | 'file_url' }

/**
 * Checks a URL that we or the engine will fetch: http or https, standard ports, no credentials, and no literal private address. Returns it
 * normalized, so that all parsers read the same URL. Throws ApiError 400.
 */
export function requireWebUrl(source: Remote): string {
  try {
    return parsePublicUrl(source.url).href
  } catch (error) {
    throw fetchError(source, error)
  }
}

/**
 * Requires of a URL that the engine will fetch that all addresses of its name are public now. A name without an address is the same error. Throws ApiError 400.
 */
export async function requirePublicName(source: Remote, lookup?: LookupFunction): Promise<void> {
  try {
    await requirePublicHost(new URL(source.url), lookup)
  } catch (error) {
    throw fetchError(source, error)
  }
}

/**
 * Fetches a URL within the limits of its kind and of the request, as fast as there is room for its bytes. Every failure is the same error, so that the answer reveals nothing about
 * hosts and networks. Throws ApiError 400. `lookup` and `trusted_origins` are those of `publicFetch`.
 */
export async function fetchRemote(
  source: Remote,
  options: {
    budget: Budget
    lease: Lease
    signal: AbortSignal
    lookup?: LookupFunction
    trusted_origins?: readonly string[]
  },
): Promise<Buffer> {
  const { budget, lease, ...rest } = options
  const kind = kindsOf(source)
  const chunks: Uint8Array[] = []
  let waited = false
  try {
    const reply = await publicFetch(source.url, {
      ...rest,
      media: kind.media,
      max_bytes: kind.max_bytes,
      timeout_ms: FETCH_MS,
    })
    for await (const chunk of reply.body) {
      spendBudget(budget, source, { bytes: chunk.length })
      chunks.push(chunk)
      const room = lease.add(chunk.length)
      if (!room) continue
      waited = true
      await room
    }
  } catch (error) {
    if (waited && error instanceof OutboundError && ENDED_WAITING.includes(error.reason)) throw noRoom(error)
    throw fetchError(source, error)
  }
  return Buffer.concat(chunks)
}

/** The time of the fetch went by while it waited for room. */
function noRoom(cause: OutboundError): ApiError {
  const text = 'The service has too many large requests at once to fetch files. Try again shortly.'
  return overloaded('memory', text, { cause })
}

const ENDED_WAITING: readonly string[] = ['timeout', 'aborted']
const FETCH_MS = 10_000

/** Many hosts send no specific type; the bytes decide in any case. */
const UNTYPED = ['application/octet-stream', 'binary/octet-stream']

function kindsOf(source: Remote): { media: string[]; max_bytes: number; noun: string } {
  if (source.from === 'file_url') {
    const media = [
      'image/*',
      'video/*',
      'audio/*',
      'text/*',
      'application/pdf',
      'application/json',
      'application/xml',
      ...UNTYPED,
    ]
    return { media, max_bytes: BYTES_MAX.video, noun: 'a file' }
  }
  const { family } = source
  const also = family === 'audio' ? ['application/ogg', 'video/mp4', 'video/webm'] : []
  const noun = { image: 'an image', video: 'a video', audio: 'a sound' }[family]
  return { media: [`${family}/*`, ...also, ...UNTYPED], max_bytes: BYTES_MAX[family], noun }
}

function fetchError(source: Remote, error: unknown): unknown {
  if (!(error instanceof OutboundError)) return error
  const { max_bytes, noun } = kindsOf(source)
  return gone(
    source,
    `the URL cannot be fetched. Give a public http or https URL on port 80 or 443, without credentials and redirects, ` +
      `that answers with ${noun} of at most ${max_bytes} bytes within ${FETCH_MS / 1000} s; or upload the file and refer to it by file_id.`,
  )
}
