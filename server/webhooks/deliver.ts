import type { Context } from '../context.ts'
import { type DeliveryResult, writeResults } from '../events/store/deliveries.ts'
import type { ClaimedDelivery } from '../events/store/delivery-claims.ts'
import { skipPending } from '../events/store/skipped.ts'
import { updateSubscription } from '../events/store/subscriptions.ts'
import { addSeconds } from '../platform/clock.ts'
import { writeGroupOrEach } from '../platform/db/groups.ts'
import { failpoint } from '../platform/failpoint.ts'
import { type Attempt, type AttemptOptions, attempt } from './attempt.ts'
import { webhookMetrics } from './metrics.ts'
import { nextTry } from './schedule.ts'
import { findDisabled, findEndpointOfAnyOrg, noteAttempts } from './store.ts'

/** After so long it is seen whether an operator has made a signing secret readable again. */
const UNREADABLE_SECONDS = 300
/** An endpoint to which every attempt of this long has failed is disabled. */
const FAILING_SECONDS_MAX = 5 * 86_400

/**
 * Sends a claimed delivery once and writes what came of it. What was sent and not written is sent again: an event arrives at least once.
 * Throws when the attempt was aborted or the database is away; the claim is released then.
 */
export async function deliver(ctx: Context, delivery: ClaimedDelivery, options: AttemptOptions = {}): Promise<void> {
  failpoint('before_delivery')
  const endpoint = await findEndpointOfAnyOrg(ctx.db, delivery.subscription_id)
  const sent =
    endpoint === null || endpoint.disabled_reason !== null
      ? null
      : await attempt(ctx, endpoint, { ...delivery, id: delivery.event_id }, options)
  failpoint('after_delivery')
  if (sent)
    webhookMetrics(ctx.metrics)
      .attempts.of(sent.error ?? 'delivered')
      .add(1)
  if (sent?.error === 'secret_unreadable')
    ctx.log.error('webhook_secret_unreadable', { endpoint_id: delivery.subscription_id })
  const { off } = await ctx.groups.join('event-deliveries', { delivery, sent }, (group) =>
    writeGroupOrEach(group, (some) => writeTogether(ctx, some)),
  )
  // Not in the commit that all organizations share. A sweep skips what is left of a long backlog.
  if (off) await skipPending(ctx.db, delivery.subscription_id, { batches_max: 1 })
}

/** `sent` is null when the endpoint is gone or disabled. */
type Sent = { delivery: ClaimedDelivery; sent: Attempt | null }

/** `off`: the endpoint is disabled, and what waits for it is to be skipped; once for each endpoint. */
async function writeTogether(ctx: Context, group: readonly Sent[]): Promise<Array<{ off: boolean }>> {
  const now = ctx.clock.now()
  const { disabled, off } = await ctx.db.transaction().execute(async (tx) => {
    const results = group.map((each) => resultOf(each, now))
    const written = await writeResults(tx, results, now)
    const noted = group.filter(({ delivery }, i) => results[i]!.tried && written.has(delivery.id))
    const ids = (which: (sent: Attempt) => boolean) =>
      noted.flatMap(({ delivery, sent }) => (which(sent!) ? [delivery.subscription_id] : []))
    const failed = ids(({ error }) => error !== null)
    const disabled = await noteAttempts(tx, {
      succeeded: ids(({ error }) => error === null),
      failed,
      gone: ids(({ status_code }) => status_code === 410),
      now,
      failing_before: addSeconds(now, -FAILING_SECONDS_MAX),
    })
    for (const { id } of disabled) await updateSubscription(tx, id, { enabled: false })
    // Also of endpoints that were disabled while the attempt was under way: a failed one has put its delivery back.
    return { disabled, off: new Set(await findDisabled(tx, failed)) }
  })
  for (const { id, org_id, disabled_reason } of disabled) {
    webhookMetrics(ctx.metrics).disabled.of(disabled_reason).add(1)
    ctx.log.warn('webhook_endpoint_disabled', { endpoint_id: id, org_id, detail: disabled_reason })
  }
  return group.map(({ delivery }) => ({ off: off.delete(delivery.subscription_id) }))
}

function resultOf({ delivery, sent }: Sent, now: Date): DeliveryResult {
  const { id, claim_id, tries, next_try_at, status_code, error } = delivery
  const claimed = { id, claim_id }
  if (sent === null) return { ...claimed, state: 'skipped', next_try_at, status_code, error, tried: false }
  const answer = { status_code: sent.status_code, error: sent.error }
  // The service's own trouble, which takes no try from the delivery and says nothing of the endpoint.
  if (sent.error === 'secret_unreadable') {
    return { ...claimed, ...answer, state: 'pending', next_try_at: addSeconds(now, UNREADABLE_SECONDS), tried: false }
  }
  if (sent.error === null) return { ...claimed, ...answer, state: 'delivered', next_try_at, tried: true }
  const again = sent.status_code === 410 ? null : nextTry(tries, sent.retry_after_seconds, now)
  const state = again ? 'pending' : 'failed'
  return { ...claimed, ...answer, state, next_try_at: again ?? next_try_at, tried: true }
}
