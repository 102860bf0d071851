import type { Context } from '../context.ts'
import { DELIVERY_QUEUE } from '../events/event.ts'
import { deliveryClaims } from '../events/store/delivery-claims.ts'
import { deleteEventsBefore } from '../events/store/events.ts'
import { findSkippable, skipPending } from '../events/store/skipped.ts'
import { addSeconds } from '../platform/clock.ts'
import { RECLAIMED_TOPIC } from '../platform/queue/worker.ts'
import type { Sweep } from '../platform/sweep.ts'
import { resealed } from './secrets.ts'
import { listSealed, replaceSealed } from './store.ts'

/** Events are deleted, with their deliveries, at this age. */
const EVENT_RETENTION_SECONDS = 30 * 86_400
const BATCH = 500
/** Leases that ended just now; all others are looked for less often. */
const RECENT = { expired_seconds_max: 30 }
/** Of one endpoint in one run, so that a backlog of one does not delay the others. */
const SKIPPED = { batches_max: 100 }

/** The periodic duties of webhooks. */
export function webhookSweeps(ctx: Context): Sweep[] {
  return [
    { name: 'deliveries.reclaim', every_seconds: 2, run: () => reclaimDeliveries(ctx, RECENT) },
    { name: 'deliveries.reclaim_all', every_seconds: 60, run: () => reclaimDeliveries(ctx, {}) },
    { name: 'deliveries.skip', every_seconds: 5, run: () => skipDeliveries(ctx) },
    { name: 'events.retention', every_seconds: 300, run: () => removeOldEvents(ctx) },
    { name: 'webhooks.secrets', every_seconds: 3600, run: () => resealSecrets(ctx) },
  ]
}

/** Releases deliveries whose worker died. */
async function reclaimDeliveries(
  ctx: Pick<Context, 'db' | 'changes' | 'log'>,
  expired: { expired_seconds_max?: number },
): Promise<void> {
  const claims = deliveryClaims(
    { subscriptions: new Map(), organizations: new Map() },
    { subscription: 0, organization: 0 },
  )
  const count = await claims.releaseExpired(ctx.db, expired)
  if (count === 0) return
  ctx.changes.announce(RECLAIMED_TOPIC, DELIVERY_QUEUE)
  ctx.log.warn('deliveries_reclaimed', { count })
}

/** Skips what waits for endpoints that are disabled or deleted. */
async function skipDeliveries({ db }: Pick<Context, 'db'>): Promise<void> {
  for (const id of await findSkippable(db)) await skipPending(db, id, SKIPPED)
}

async function removeOldEvents(ctx: Pick<Context, 'db' | 'clock'>): Promise<void> {
  const before = addSeconds(ctx.clock.now(), -EVENT_RETENTION_SECONDS)
  while ((await deleteEventsBefore(ctx.db, before, BATCH)) === BATCH);
}

/** Encrypts with the current secret of the service what was encrypted with an earlier one, so that the earlier one can be dropped. */
async function resealSecrets(ctx: Pick<Context, 'db' | 'secret' | 'secrets'>): Promise<void> {
  let after = ''
  for (;;) {
    const page = await listSealed(ctx.db, after, BATCH)
    for (const was of page) {
      const secret = resealed(ctx, was.id, was.secret)
      const previous = was.previous_secret === null ? null : resealed(ctx, was.id, was.previous_secret)
      if (secret === null && previous === null) continue
      await replaceSealed(ctx.db, was, {
        secret: secret ?? was.secret,
        previous_secret: previous ?? was.previous_secret,
      })
    }
    if (page.length < BATCH) return
    after = page.at(-1)!.id
  }
}
