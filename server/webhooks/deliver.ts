import type { Context } from '../context.ts'
import { addSeconds } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { writeGroupOrEach } from '../platform/db/groups.ts'
import { failpoint } from '../platform/failpoint.ts'
import { type AttemptOptions, attempt, type DeliveryAttempt } from './attempt.ts'
import { webhookMetrics } from './metrics.ts'
import { type AttemptRow, insertAttempts } from './store/attempts.ts'
import { type DeliveryResult, writeResults } from './store/deliveries.ts'
import type { ClaimedDelivery } from './store/delivery-claims.ts'
import {
  type AttemptOutcome,
  type EndpointRow,
  findDisabled,
  findEndpointOfAnyOrg,
  findUrls,
  recordAttempts,
} from './store/endpoints.ts'
import { skipPending } from './store/skipped.ts'

/** When to try an event again whose signing secret cannot be read. Below the five minutes for which its alert looks back. */
const UNREADABLE_SECONDS = 240
/** An endpoint to which every attempt of this long has failed is disabled. */
const FAILING_SECONDS_MAX = 5 * 86_400

/**
 * Sends a claimed delivery once and writes what came of it. What was sent and not written is sent again: an event arrives at least once.
 * Throws when the attempt was aborted or the database is away; the claim is released then.
 */
export async function deliver(ctx: Context, delivery: ClaimedDelivery, options: AttemptOptions = {}): Promise<void> {
  failpoint('before_delivery')
  const endpoint = await findEndpointOfAnyOrg(ctx.db, delivery.endpoint_id)
  const sent = endpoint?.disabled_reason === null ? await sendTo(ctx, endpoint, delivery, options) : null
  failpoint('after_delivery')
  if (sent)
    webhookMetrics(ctx.metrics)
      .attempts.of(sent.error ?? 'delivered')
      .add(1)
  if (sent?.error === 'secret_unreadable')
    ctx.log.error('webhook_secret_unreadable', { endpoint_id: delivery.endpoint_id })
  const { off } = await ctx.groups.join('event-deliveries', { delivery, sent }, (group) =>
    writeGroupOrEach(group, (some) => writeTogether(ctx, some)),
  )
  // Not in the commit that all organizations share. A sweep skips what is left of a long backlog.
  if (off) await skipPending(ctx.db, delivery.endpoint_id, { batches_max: 1 })
}

async function sendTo(ctx: Context, endpoint: EndpointRow, delivery: ClaimedDelivery, options: AttemptOptions) {
  const event = { ...delivery, id: delivery.event_id }
  return { ...(await attempt(ctx, endpoint, event, options)), url: endpoint.url }
}

/** `sent` is null when the endpoint is gone or disabled. */
type Sent = { delivery: ClaimedDelivery; sent: (DeliveryAttempt & { url: string }) | null }

/** `off`: the endpoint is disabled, and what waits for it is to be skipped; once for each endpoint. */
async function writeTogether(ctx: Context, group: readonly Sent[]): Promise<Array<{ off: boolean }>> {
  const now = ctx.clock.now()
  const { disabled, off } = await ctx.db.transaction().execute(async (tx) => {
    const given_up = await findGone(tx, group)
    const results = group.map((each) => resultOf(each, { now, given_up: given_up.has(each) }))
    const written = await writeResults(tx, results, now)
    const tried = group.filter(({ sent, delivery }, i) => sent && results[i]!.tried && written.has(delivery.id))
    await insertAttempts(
      tx,
      tried.map(({ delivery, sent }) => rowOf(delivery, sent!, written.get(delivery.id)!)),
    )
    const attempts = tried.map(({ delivery, sent }) => noted(delivery.endpoint_id, sent!))
    const disabled = await recordAttempts(tx, { attempts, now, failing_before: addSeconds(now, -FAILING_SECONDS_MAX) })
    // Also of endpoints that were disabled while the attempt was under way: a failed one has put its delivery back.
    const failed = attempts.filter(({ outcome }) => outcome !== 'succeeded').map(({ id }) => id)
    return { disabled, off: new Set(await findDisabled(tx, failed)) }
  })
  for (const { id, org_id, disabled_reason } of disabled) {
    webhookMetrics(ctx.metrics).disabled.of(disabled_reason).add(1)
    ctx.log.warn('webhook_endpoint_disabled', { endpoint_id: id, org_id, detail: disabled_reason })
  }
  return group.map(({ delivery }) => ({ off: off.delete(delivery.endpoint_id) }))
}

/** Those that were answered 410 by the URL that their endpoint still has. */
async function findGone(tx: Tx, group: readonly Sent[]): Promise<Set<Sent>> {
  const gone = group.filter(({ sent }) => sent?.status_code === 410)
  const urls = await findUrls(
    tx,
    gone.map(({ delivery }) => delivery.endpoint_id),
  )
  return new Set(gone.filter(({ delivery, sent }) => urls.get(delivery.endpoint_id) === sent!.url))
}

function rowOf(delivery: ClaimedDelivery, sent: DeliveryAttempt & { url: string }, number: number): AttemptRow {
  const { sent_at, url, status_code, error, response } = sent
  return {
    delivery_id: delivery.id,
    number,
    org_id: delivery.org_id,
    sent_at,
    status_code,
    error,
    origin: new URL(url).origin,
    response_headers: response?.headers ?? null,
    response_body: response?.body ?? null,
  }
}

function noted(id: string, { url, error, status_code }: DeliveryAttempt & { url: string }): AttemptOutcome {
  return { id, url, outcome: error === null ? 'succeeded' : status_code === 410 ? 'gone' : 'failed' }
}

function resultOf({ delivery, sent }: Sent, { now, given_up }: { now: Date; given_up: boolean }): DeliveryResult {
  const { id, claim_id, tries, next_try_at, status_code, error } = delivery
  const claimed = { id, claim_id }
  if (sent === null) return { ...claimed, state: 'skipped', next_try_at, status_code, error, tried: false }
  const answer = { status_code: sent.status_code, error: sent.error }
  // The service's own trouble, which takes no try from the delivery and says nothing of the endpoint.
  if (sent.error === 'secret_unreadable') {
    return { ...claimed, ...answer, state: 'pending', next_try_at: addSeconds(now, UNREADABLE_SECONDS), tried: false }
  }
  if (sent.error === null) return { ...claimed, ...answer, state: 'delivered', next_try_at, tried: true }
  const again = given_up ? null : nextTry(tries, sent.retry_after_seconds, now)
  const state = again ? 'pending' : 'failed'
  return { ...claimed, ...answer, state, next_try_at: again ?? next_try_at, tried: true }
}

/** How long after each attempt that failed the next one is made; after the last the delivery is given up. */
const DELAYS_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

/**
 * When a delivery is tried again after a failed attempt that `tries` others came before. A receiver may ask for more time, not for less.
 * Null when it is given up.
 */
function nextTry(tries: number, retry_after_seconds: number | null, now: Date): Date | null {
  const delay = DELAYS_SECONDS[tries]
  if (delay === undefined) return null
  return addSeconds(now, Math.max(delay, retry_after_seconds ?? 0))
}
