import type { EngineCall, EngineClient, EngineReply } from '../../../platform/outbound/client.ts'
import { callError } from '../../reply-error.ts'
import { accepted } from '../reply/read.ts'

/** The reply to one call, whatever its status. Throws EngineError when there is none. */
export async function send(client: EngineClient, call: EngineCall, signal: AbortSignal): Promise<EngineReply> {
  try {
    return await client.call(call, signal)
  } catch (error) {
    throw callError(error)
  }
}

/** The reply to one call that succeeded. Throws EngineError when there is none, or it refuses. */
export async function callEngine(client: EngineClient, call: EngineCall, signal: AbortSignal): Promise<EngineReply> {
  const reply = await send(client, call, signal)
  accepted(reply, {})
  return reply
}
