import type { Static } from 'typebox'
import type { Context } from '../context.ts'
import { actorOf, recordActivity } from '../identity/activity/activity.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { lockedRole, requireManager } from '../identity/members/members.ts'
import { addSeconds } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { ApiError, notFound } from '../platform/errors.ts'
import { openShares } from '../platform/fair-queue.ts'
import { firstId, isId, newId } from '../platform/ids.ts'
import { parseMoney } from '../platform/money.ts'
import { OutboundError } from '../platform/outbound/error.ts'
import { RECLAIMED_TOPIC } from '../platform/queue/consumer.ts'
import { requireAllowedUrl } from './attempt.ts'
import { DELIVERY_QUEUE } from './event.ts'
import type { CreateEndpoint, Redeliver, UpdateEndpoint } from './schema.ts'
import { mintSecret, sealSecret, signingSecretHint } from './secrets.ts'
import { hasDelivery, sendAgain } from './store/deliveries.ts'
import {
  countEndpoints,
  deleteEndpoint,
  type EndpointRow,
  findEndpoint,
  insertEndpoint,
  lockEndpoint,
  updateEndpoint,
} from './store/endpoints.ts'
import { skipPending } from './store/skipped.ts'

/** Endpoints of one organization. */
const ENDPOINTS_MAX = 20
/** 10, in units of 10⁻⁸. */
const LOW_BALANCE = 1_000_000_000n
/** How long the previous secret signs after a rotation that keeps it. */
const OVERLAP_SECONDS = 86_400
/** What a request skips of a backlog; the sweep skips the rest. */
const FIRST_SKIP = { batches_max: 1 }
const SKIP_BEFORE_START = { batches_max: 200 }

/** Creates an endpoint. `secret` is returned here and never again. Throws ApiError `permission_denied`, `invalid_value` or `conflict`. */
export async function createEndpoint(
  ctx: Context,
  principal: Principal,
  body: Static<typeof CreateEndpoint>,
): Promise<{ endpoint: EndpointRow; secret: string }> {
  requireManager(principal)
  const url = readUrl(ctx, body.url)
  const now = ctx.clock.now()
  const { org_id } = principal
  const id = newId('webhook_endpoint', now)
  const secret = mintSecret()
  const endpoint: EndpointRow = {
    id,
    org_id,
    name: body.name,
    url,
    created_at: now,
    updated_at: now,
    event_types: [...new Set(body.event_types)],
    listens_since: now,
    low_balance: body.low_balance === undefined ? LOW_BALANCE : parseMoney(body.low_balance)!,
    secret: sealSecret(ctx, id, secret),
    secret_hint: signingSecretHint(secret),
    previous_secret: null,
    previous_secret_until: null,
    disabled_reason: null,
    failing_since: null,
  }
  await ctx.db.transaction().execute(async (tx) => {
    requireManager(await lockedRole(tx, principal))
    if ((await countEndpoints(tx, org_id)) >= ENDPOINTS_MAX) {
      throw new ApiError('conflict', `An organization can have ${ENDPOINTS_MAX} webhook endpoints. Delete one first.`)
    }
    await insertEndpoint(tx, endpoint)
    await record(tx, principal, { done: 'create', endpoint, now })
  })
  return { endpoint, secret }
}

/** Throws ApiError `permission_denied`, and the one 404 for endpoints that are unknown, foreign or not even named like one. */
export async function readEndpoint(ctx: Pick<Context, 'db'>, principal: Principal, id: string): Promise<EndpointRow> {
  requireManager(principal)
  const endpoint = isId('webhook_endpoint', id) ? await findEndpoint(ctx.db, principal.org_id, id) : null
  if (!endpoint) throw notFound('webhook endpoint')
  return endpoint
}

/** Changes an endpoint. Enabled again, it has no failures; what was skipped in the meantime is sent by `redeliver` only. Throws as `createEndpoint`. */
export async function changeEndpoint(
  ctx: Context,
  principal: Principal,
  { id, body }: { id: string; body: Static<typeof UpdateEndpoint> },
): Promise<EndpointRow> {
  const url = body.url === undefined ? undefined : readUrl(ctx, body.url)
  if (body.enabled) {
    await readEndpoint(ctx, principal, id)
    // What the sweep has not reached yet of a long backlog.
    await skipPending(ctx.db, id, SKIP_BEFORE_START)
  }
  const now = ctx.clock.now()
  const { name, event_types, low_balance, enabled } = body
  await changing(ctx, principal, id, async (tx, endpoint) => {
    const turned = enabled === undefined || enabled === (endpoint.disabled_reason === null) ? null : enabled
    await updateEndpoint(tx, id, {
      ...(name !== undefined && { name }),
      ...(url !== undefined && { url }),
      // The new one has not failed yet.
      ...(url !== undefined && url !== endpoint.url && { failing_since: null }),
      ...(turned !== null && { disabled_reason: turned ? null : 'owner', failing_since: null }),
      ...(event_types !== undefined && { event_types: [...new Set(event_types)], listens_since: now }),
      ...(low_balance !== undefined && { low_balance: parseMoney(low_balance)! }),
      updated_at: now,
    })
    await record(tx, principal, { done: 'change', endpoint: { ...endpoint, ...body }, now })
  })
  if (enabled === false) await skipPending(ctx.db, id, FIRST_SKIP)
  return readEndpoint(ctx, principal, id)
}

/** Deletes an endpoint: nothing more is sent to it. Throws ApiError `permission_denied` or `not_found`. */
export async function removeEndpoint(ctx: Context, principal: Principal, id: string): Promise<void> {
  await changing(ctx, principal, id, async (tx, endpoint) => {
    await deleteEndpoint(tx, id)
    await record(tx, principal, { done: 'delete', endpoint, now: ctx.clock.now() })
  })
  await skipPending(ctx.db, id, FIRST_SKIP)
}

/** Gives an endpoint a new secret; with `keep_old`, the previous one signs beside it for 24 hours. An earlier previous one ends. */
export async function rotateSecret(
  ctx: Context,
  principal: Principal,
  { id, keep_old }: { id: string; keep_old: boolean },
): Promise<{ endpoint: EndpointRow; secret: string }> {
  const now = ctx.clock.now()
  const secret = mintSecret()
  await changing(ctx, principal, id, async (tx, endpoint) => {
    await updateEndpoint(tx, id, {
      secret: sealSecret(ctx, id, secret),
      secret_hint: signingSecretHint(secret),
      updated_at: now,
      previous_secret: keep_old ? endpoint.secret : null,
      previous_secret_until: keep_old ? addSeconds(now, OVERLAP_SECONDS) : null,
    })
    await record(tx, principal, { done: 'rotate_secret', endpoint, now })
  })
  return { endpoint: await readEndpoint(ctx, principal, id), secret }
}

/** A batch of a thousand deliveries. Requests of one person wait for each other in the database, where each keeps a connection. */
const sendInTurn = openShares({ each: 1, all: 2 })

/**
 * Sends one event, or all since a time, again. Returns how many. A long backlog is changed in batches, each of which is rejected once the
 * endpoint is disabled or deleted. Throws ApiError `invalid_request_error` for a body that asks for both or neither, `conflict` for an
 * endpoint that is disabled, and `not_found`; or with the reason of `signal` before it begins.
 */
export async function redeliver(
  ctx: Context,
  principal: Principal,
  { id, body, signal }: { id: string; body: Static<typeof Redeliver>; signal: AbortSignal },
): Promise<number> {
  const now = ctx.clock.now()
  let count = 0
  let after: string | null = null
  const send = () => changing(ctx, principal, id, (tx, endpoint) => sendPage(tx, endpoint, { body, now, after }))
  do {
    // Whoever leaves then gives up; what has begun goes on.
    const page: Awaited<ReturnType<typeof sendPage>> = await sendInTurn(
      principal.org_id,
      send,
      after === null ? signal : undefined,
    )
    // Of old events: they were due for long, and other processes look at what became due lately.
    if (page.count > 0) ctx.changes.announce(RECLAIMED_TOPIC, DELIVERY_QUEUE)
    count += page.count
    after = page.next
  } while (after !== null)
  return count
}

async function sendPage(
  tx: Tx,
  { id, disabled_reason }: EndpointRow,
  { body, now, after }: { body: Static<typeof Redeliver>; now: Date; after: string | null },
): ReturnType<typeof sendAgain> {
  const { event_id, since, undelivered_only = false } = body
  if ((event_id === undefined) === (since === undefined)) {
    throw new ApiError('invalid_request_error', "Send either 'event_id' or 'since'.", { param: 'since' })
  }
  if (disabled_reason !== null) throw new ApiError('conflict', 'This endpoint is disabled. Enable it first.')
  const all = { endpoint_id: id, now, undelivered: undelivered_only }
  if (since !== undefined) {
    const start = new Date(since * 1000)
    return sendAgain(tx, { ...all, since: start, after: after ?? firstId('event', start) })
  }
  const one = { event_id: event_id!, endpoint_id: id }
  if (!isId('event', event_id!) || !(await hasDelivery(tx, one))) throw notFound('event')
  return sendAgain(tx, { ...all, ...one })
}

/** Locks an endpoint for a change by somebody who may make it at this moment. Throws ApiError `permission_denied` or `not_found`. */
async function changing<T>(
  ctx: Pick<Context, 'db'>,
  principal: Principal,
  id: string,
  change: (tx: Tx, endpoint: EndpointRow) => Promise<T>,
): Promise<T> {
  requireManager(principal)
  return ctx.db.transaction().execute(async (tx) => {
    requireManager(await lockedRole(tx, principal))
    const endpoint = isId('webhook_endpoint', id) ? await lockEndpoint(tx, principal.org_id, id) : null
    if (!endpoint) throw notFound('webhook endpoint')
    return change(tx, endpoint)
  })
}

/** Records a change with the endpoint's name and host: paths and queries of such URLs often hold a secret. */
async function record(
  tx: Tx,
  principal: Principal,
  change: {
    done: 'create' | 'change' | 'rotate_secret' | 'delete'
    endpoint: Pick<EndpointRow, 'id' | 'name' | 'url'>
    now: Date
  },
): Promise<void> {
  const { done, endpoint, now } = change
  await recordActivity(tx, {
    actor: actorOf(principal),
    action: `webhook_endpoint.${done}`,
    now,
    org_id: principal.org_id,
    target: endpoint.id,
    details: { name: endpoint.name, host: new URL(endpoint.url).host },
  })
}

/** The URL as it is stored: normalized, so that one receiver has one URL and all parsers read the same. Throws ApiError `invalid_value`. */
function readUrl(ctx: Pick<Context, 'config'>, text: string): string {
  try {
    // Twice: encoded it may be longer than what is sent to.
    return requireAllowedUrl(ctx, requireAllowedUrl(ctx, text))
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    throw new ApiError('invalid_value', `Invalid 'url': ${error.message} Send an https URL of a public address.`, {
      param: 'url',
    })
  }
}
