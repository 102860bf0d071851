import type { Context } from '../context.ts'
import { DELIVERY_QUEUE } from '../events/event.ts'
import { type ClaimedDelivery, deliveryClaims } from '../events/store/delivery-claims.ts'
import { isDatabaseDown } from '../platform/db/db.ts'
import type { Shares } from '../platform/queue/fair-claims.ts'
import { startWorker } from '../platform/queue/worker.ts'
import { takingTurnsAs } from '../platform/turns.ts'
import type { AttemptOptions } from './attempt.ts'
import { deliver } from './deliver.ts'

/** Events sent at a time by one process: to one endpoint, to those of one organization, and to all. */
const SHARES: Shares = { owner: 8, organization: 32, all: 128 }
/** A stop lets attempts under way end, whose time limit is shorter. */
const STOP_SECONDS = { finish: 16, abort: 2 }

export type DeliveryWorker = { stop(): Promise<void> }

/** Sends events to webhook endpoints as they become due. `sole`: no other worker can be alive on this database; `worker_id`: see `Presence`. */
export function startDeliveryWorker(
  ctx: Context,
  { sole, worker_id, ...options }: { sole: boolean; worker_id?: string | undefined } & Pick<AttemptOptions, 'lookup'>,
): DeliveryWorker {
  const { db, clock, changes } = ctx
  return startWorker<ClaimedDelivery>({
    ...{ db, clock, changes, sole, worker_id, queue: DELIVERY_QUEUE, claims: deliveryClaims(SHARES) },
    ...{ concurrency: SHARES.all, stop_seconds: STOP_SECONDS },
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
