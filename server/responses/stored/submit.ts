import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { QUEUE_TOPIC } from '../../platform/queue/worker.ts'
import type { EndedResponse } from '../call.ts'
import { responseEvent } from '../events/lines.ts'
import { RESPONSE_QUEUE } from '../queues.ts'
import type { CreateResponse } from '../schema/response.ts'
import { insertResponse } from './store.ts'
import { insertEvents } from './store-events.ts'
import { withDistinctIds } from './stored.ts'

/**
 * Stores a response as `queued`, due at once. Its first two events are told with it. The caller has
 * checked everything that is an HTTP error. `input` holds items, no references.
 */
export async function queueResponse(
  ctx: Pick<Context, 'db' | 'clock' | 'changes'>,
  call: { principal: Principal; request_id: string; body: CreateResponse },
  { response, input }: EndedResponse,
): Promise<void> {
  const { org_id, user_id, key_id } = call.principal
  const { input: _, ...request } = call.body
  const { request_id } = call
  const now = ctx.clock.now()
  const created = responseEvent('response.created', 0, response)
  const queued = responseEvent('response.queued', 1, response)
  await ctx.db.transaction().execute(async (tx) => {
    const stored = { org_id, user_id, key_id, request_id, response, input: withDistinctIds(input), now, request }
    await insertResponse(tx, stored)
    await insertEvents(tx, response.id, { first_number: 0, events: [created.data, queued.data] })
    failpoint('within_queue_response')
  })
  ctx.changes.announce(QUEUE_TOPIC, RESPONSE_QUEUE)
  failpoint('after_queue_response')
}
