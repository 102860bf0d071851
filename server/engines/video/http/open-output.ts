import { type EngineClient, publicRequest } from '../../../platform/outbound/client.ts'
import { discard, type OutboundReply } from '../../../platform/outbound/exchange.ts'
import { callError, statusError, unreadableReply } from '../../reply-error.ts'

/** Where an output may come from besides the engine's own origin. */
export type OutputOptions = { max_bytes: number; timeout_ms: number; trusted_origins: readonly string[] }

/**
 * Opens a finished clip: a path at the engine, or a URL found in one of its replies. One redirect is followed, as one more URL from a
 * reply. A URL of another host must be public and never gets the engine's credential. Throws EngineError.
 */
export async function openOutput(
  client: EngineClient,
  target: string,
  options: OutputOptions,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  try {
    const first = await open(client, target, options, signal)
    const location = first.headers.location
    if (!REDIRECTS.has(first.status) || typeof location !== 'string') return await clipOf(first)
    await discard(first)
    return await clipOf(await open(client, client.resolve(target, location), options, signal))
  } catch (error) {
    throw callError(error)
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

function open(
  client: EngineClient,
  target: string,
  options: OutputOptions,
  signal: AbortSignal,
): Promise<OutboundReply> {
  const { max_bytes, timeout_ms, trusted_origins } = options
  if (target.startsWith('/') || client.owns(target)) return client.open(target, { max_bytes, timeout_ms }, signal)
  return publicRequest(target, { max_bytes, timeout_ms, trusted_origins, signal })
}

async function clipOf(reply: OutboundReply): Promise<ReadableStream<Uint8Array>> {
  if (reply.status !== 200) {
    await discard(reply)
    throw statusError(reply.status, reply.headers, null)
  }
  if (reply.media_type !== null && !/^video\/|^application\/(octet-stream|mp4)$|^binary\//.test(reply.media_type)) {
    await discard(reply)
    throw unreadableReply('it is not a video')
  }
  return reply.body
}
