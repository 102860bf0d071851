import type { EngineCall, EngineClient, EngineReply } from '../../../platform/outbound/client.ts'
import { callError, statusError } from '../../reply-error.ts'

/** The reply to one call, whatever its status. Throws EngineError when there is none. */
export async function send(client: EngineClient, call: EngineCall, signal: AbortSignal): Promise<EngineReply> {
  try {
    return await client.call(call, signal)
  } catch (error) {
    throw callError(error)
  }
}

/** The reply to one call that succeeded. Throws EngineError when there is none, or its status is not one of success. */
export async function ask(client: EngineClient, call: EngineCall, signal: AbortSignal): Promise<EngineReply> {
  const reply = await send(client, call, signal)
  if (reply.status < 200 || reply.status > 299) throw statusError(reply.status, reply.headers, reply.json)
  return reply
}
