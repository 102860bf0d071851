import type { Context } from '../../context.ts'
import type { Tx } from '../../platform/db/db.ts'
import { QUEUE_TOPIC } from '../../platform/queue/consumer.ts'
import { DELIVERY_QUEUE } from '../../webhooks/event.ts'
import { recordEvents } from '../../webhooks/store/events.ts'
import type { ResponseObject } from '../schema/response.ts'

/**
 * Records the events of background responses that end in this transaction. Call the function it returns after the commit: deliveries
 * are announced.
 */
export async function recordEnds(
  ctx: Pick<Context, 'changes'>,
  tx: Tx,
  { ended, now }: { ended: ReadonlyArray<{ org_id: string; response: ResponseObject }>; now: Date },
): Promise<() => void> {
  const events = ended.flatMap(({ org_id, response: { id, status } }) =>
    status === 'queued' || status === 'in_progress'
      ? []
      : [{ org_id, type: `response.${status}` as const, subject_id: id }],
  )
  const deliveries = await recordEvents(tx, events, now)
  return () => {
    if (deliveries > 0) ctx.changes.announce(QUEUE_TOPIC, DELIVERY_QUEUE)
  }
}
