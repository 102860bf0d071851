import type { Context } from '../context.ts'
import { isDatabaseDown } from '../platform/db/db.ts'
import { startConsumer } from '../platform/queue/consumer.ts'
import type { Shares } from '../platform/queue/fair-claims.ts'
import { takingTurnsAs } from '../platform/turns.ts'
import type { AttemptOptions } from './attempt.ts'
import { deliver } from './deliver.ts'
import { DELIVERY_QUEUE } from './event.ts'
import { type ClaimedDelivery, deliveryClaims } from './store/delivery-claims.ts'

/** Events sent at a time by one process: to one endpoint, to those of one organization, and to all. */
const SHARES: Shares = { owner: 8, organization: 32, all: 128 }
/** A stop lets attempts under way end, whose time limit is shorter. */
const STOP_SECONDS = { finish: 16, abort: 2 }

export type DeliveryConsumer = { stop(): Promise<void> }

/** Sends events to webhook endpoints as they become due. `sole`: no other consumer can be alive on this database; `consumer_id`: see `Presence`. */
export function startDeliveryConsumer(
  ctx: Context,
  {
    sole,
    consumer_id,
    ...options
  }: { sole: boolean; consumer_id?: string | undefined } & Pick<AttemptOptions, 'lookup'>,
): DeliveryConsumer {
  const { db, clock, changes } = ctx
  return startConsumer<ClaimedDelivery>({
    db,
    clock,
    changes,
    sole,
    consumer_id,
    queue: DELIVERY_QUEUE,
    claims: deliveryClaims(SHARES),
    concurrency: SHARES.all,
    stop_seconds: STOP_SECONDS,
    async run(delivery, signal) {
      await takingTurnsAs(delivery.org_id, () => deliver(ctx, delivery, { ...options, signal }))
      return null
    },
    on_error(error, delivery) {
      const level = isDatabaseDown(error) ? 'warn' : 'error'
      if (delivery) ctx.log[level]('delivery_interrupted', { event_id: delivery.event_id, error })
      else ctx.log[level]('queue_failed', { error })
    },
  })
}
