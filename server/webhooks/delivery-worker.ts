import type { Context } from '../context.ts'
import { DELIVERY_QUEUE } from '../events/event.ts'
import { type ClaimedDelivery, deliveryClaims } from '../events/store/delivery-claims.ts'
import { isDatabaseDown } from '../platform/db/db.ts'
import { QUEUE_TOPIC, startWorker } from '../platform/queue/worker.ts'
import type { AttemptOptions } from './attempt.ts'
import { deliver } from './deliver.ts'

/** Events sent at a time by one process: to one endpoint, to those of one organization, and to all. */
const SHARE = { subscription: 8, organization: 32, all: 128 }
/** A stop lets attempts under way end, whose time limit is shorter. */
const STOP_SECONDS = { finish: 16, abort: 2 }

export type DeliveryWorker = { stop(): Promise<void> }

/** Sends events to webhook endpoints as they become due. `sole`: no other worker can be alive on this database; `worker_id`: see `Presence`. */
export function startDeliveryWorker(
  ctx: Context,
  { sole, worker_id, ...options }: { sole: boolean; worker_id?: string | undefined } & Pick<AttemptOptions, 'lookup'>,
): DeliveryWorker {
  const { db, clock, changes } = ctx
  const sending = countSending()
  return startWorker<ClaimedDelivery>({
    ...{ db, clock, changes, sole, worker_id, queue: DELIVERY_QUEUE, claims: deliveryClaims(sending, SHARE) },
    ...{ concurrency: SHARE.all, stop_seconds: STOP_SECONDS },
    // It is called for every row of a claim before the next claim is made.
    async run(delivery, signal) {
      sending.begin(delivery)
      try {
        await deliver(ctx, delivery, { ...options, signal })
        return null
      } finally {
        // What waited for this share is due already, and nothing else announces it.
        if (sending.end(delivery)) changes.announce(QUEUE_TOPIC, DELIVERY_QUEUE)
      }
    },
    on_error(error, delivery) {
      const level = isDatabaseDown(error) ? 'warn' : 'error'
      if (delivery) ctx.log[level]('delivery_interrupted', { event_id: delivery.event_id, error })
      else ctx.log[level]('queue_failed', { error })
    },
  })
}

type Owners = Pick<ClaimedDelivery, 'subscription_id' | 'org_id'>

/** Counts what is being sent, by subscription and organization. `end` returns whether what is left waits for it: see `deliveryClaims`. */
function countSending() {
  const subscriptions = new Map<string, number>()
  const organizations = new Map<string, number>()
  let all = 0
  const add = (counts: Map<string, number>, id: string, by: 1 | -1): number => {
    const before = counts.get(id) ?? 0
    if (before + by === 0) counts.delete(id)
    else counts.set(id, before + by)
    return before
  }
  return {
    subscriptions,
    organizations,
    begin({ subscription_id, org_id }: Owners): void {
      all += 1
      add(subscriptions, subscription_id, 1)
      add(organizations, org_id, 1)
    },
    end({ subscription_id, org_id }: Owners): boolean {
      const to_anybody = all--
      const to_one = add(subscriptions, subscription_id, -1)
      const to_all = add(organizations, org_id, -1)
      return to_one >= SHARE.subscription || to_all >= SHARE.organization || to_anybody >= SHARE.all / 2
    },
  }
}
