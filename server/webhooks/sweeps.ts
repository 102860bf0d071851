import type { Context } from '../context.ts'
import { isSecretInUse } from '../nodes/join.ts'
import { addSeconds } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { RECLAIMED_TOPIC } from '../platform/queue/consumer.ts'
import type { Sweep } from '../platform/sweep.ts'
import { DELIVERY_QUEUE } from './event.ts'
import { resealer } from './secrets.ts'
import { deliveryQueue } from './store/delivery-claims.ts'
import { listSealed, replaceSealed } from './store/endpoints.ts'
import { deleteEventsBefore } from './store/events.ts'
import { findSkippable, skipPending } from './store/skipped.ts'

/** Events are deleted, with their deliveries, at this age. */
const EVENT_RETENTION_SECONDS = 30 * 86_400
const BATCH = 500
/** Leases that ended just now; all others are looked for less often. */
const RECENT = { expired_seconds_max: 30 }
/** Of one endpoint in one run, so that a backlog of one does not delay the others. */
const SKIPPED = { batches_max: 100 }

/** The periodic duties of webhooks. */
export function webhookSweeps(ctx: Context): Sweep[] {
  const reseal = openResealing(ctx)
  return [
    { name: 'deliveries.reclaim', every_seconds: 2, run: () => reclaimDeliveries(ctx, RECENT) },
    { name: 'deliveries.reclaim_all', every_seconds: 60, run: () => reclaimDeliveries(ctx, {}) },
    { name: 'deliveries.skip', every_seconds: 5, run: () => skipDeliveries(ctx) },
    { name: 'events.retention', every_seconds: 300, run: () => removeOldEvents(ctx) },
    { name: 'webhooks.secrets', every_seconds: 60, run: () => reseal(ctx) },
  ]
}

/** Releases deliveries whose consumer died. */
async function reclaimDeliveries(
  ctx: Pick<Context, 'db' | 'changes' | 'log'>,
  expired: { expired_seconds_max?: number },
): Promise<void> {
  const count = await deliveryQueue.claims.releaseExpired(ctx.db, expired)
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

/**
 * Encrypts with the secret in use what was encrypted with an earlier one, so that the earlier one can be dropped. A node that has not been
 * reloaded yet changes nothing. Logs how many still need an earlier one: after a change of the secret, and when their number has changed.
 */
function openResealing({ db, log }: Context): (ctx: Pick<Context, 'secret' | 'secrets'>) => Promise<void> {
  let logged = ''
  return async ({ secret, secrets }) => {
    if (!(await isSecretInUse(db, secret))) return
    const { count, left } = await resealSecrets(db, { secret, secrets })
    const now = `${secret}/${left}`
    if (count > 0 || logged !== now) log.info('webhook_secrets_encrypted', { count, detail: `${left} left` })
    logged = now
  }
}

async function resealSecrets(
  db: Db,
  service: Pick<Context, 'secret' | 'secrets'>,
): Promise<{ count: number; left: number }> {
  const resealed = resealer(service)
  const total = { count: 0, left: 0 }
  let after = ''
  for (;;) {
    const page = await listSealed(db, after, BATCH)
    for (const was of page) {
      const secret = resealed(was.id, was.secret)
      const previous = was.previous_secret === null ? null : resealed(was.id, was.previous_secret)
      if (secret === 'unreadable' || previous === 'unreadable') total.left += 1
      const now = { secret: readable(secret) ?? was.secret, previous_secret: readable(previous) ?? was.previous_secret }
      if (now.secret === was.secret && now.previous_secret === was.previous_secret) continue
      await replaceSealed(db, was, now)
      total.count += 1
    }
    if (page.length < BATCH) return total
    after = page.at(-1)!.id
  }
}

function readable(sealed: string | null): string | null {
  return sealed === 'unreadable' ? null : sealed
}
