import { type RawBuilder, sql } from 'kysely'
import type { Config } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import { timeOfStatement } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Principal } from './principal.ts'

declare module '../../platform/db/db.ts' {
  interface Database {
    request_rates: { org_id: string; user_id: string; full_at: bigint }
  }
}

type Person = Pick<Principal, 'org_id' | 'user_id'>

const MINUTE_MICROSECONDS = 60_000_000

/**
 * Counts one request of a person against the plan of the organization, when it has a limit: all of the person's API keys and sessions in
 * that organization together, exactly across all processes. An allowance of a minute's requests refills evenly (the generic cell rate
 * algorithm). Returns the headers every response carries then, null without a limit.
 * Throws ApiError `rate_limit_exceeded`, with the same headers.
 */
export async function countAgainstRateLimit(
  ctx: Pick<Context, 'config' | 'db' | 'clock'>,
  principal: Principal,
): Promise<Record<string, string> | null> {
  const limit = ctx.config.plans.get(principal.plan)?.requests_per_minute ?? null
  if (limit === null) return null
  const now = sql`(extract(epoch from ${timeOfStatement(ctx.clock)}) * 1000000)::bigint`
  const cost = Math.floor(MINUTE_MICROSECONDS / limit)
  const allowance = cost * limit
  const spent = await spend(ctx.db, principal, { now, cost, allowance })
  if (spent !== null) return headersOf({ limit, cost, ahead: spent })

  const ahead = await readAhead(ctx.db, principal, now)
  const seconds = Math.max(0.1, (ahead + cost - allowance) / 1_000_000)
  const wait = (Math.ceil(seconds * 10) / 10).toFixed(1)
  throw new ApiError(
    'rate_limit_exceeded',
    `Rate limit reached: ${limit} requests per minute for all your keys and sessions in this organization. Please try again in ${wait}s.`,
    {
      retry_after_seconds: seconds,
      headers: headersOf({ limit, cost, ahead }),
    },
  )
}

/** Whether any plan limits requests. */
export function hasLimits(config: Config): boolean {
  const known = limited.get(config)
  if (known !== undefined) return known
  const limits = [...config.plans.values()].some(({ requests_per_minute }) => requests_per_minute !== null)
  limited.set(config, limits)
  return limits
}

const limited = new WeakMap<Config, boolean>()

/** Microseconds until the allowance is full again; null when it does not cover one more request. */
async function spend(
  db: Db,
  { org_id, user_id }: Person,
  { now, cost, allowance }: { now: RawBuilder<unknown>; cost: number; allowance: number },
): Promise<number | null> {
  const result = await sql<{ ahead: bigint }>`
    insert into request_rates (org_id, user_id, full_at) values (${org_id}, ${user_id}, ${now} + ${cost})
    on conflict (org_id, user_id) do update set full_at = greatest(request_rates.full_at, ${now}) + ${cost}
      where greatest(request_rates.full_at, ${now}) - ${now} + ${cost} <= ${allowance}
    returning full_at - ${now} as ahead`.execute(db)
  const row = result.rows[0]
  return row ? Number(row.ahead) : null
}

async function readAhead(db: Db, { org_id, user_id }: Person, now: RawBuilder<unknown>): Promise<number> {
  const result = await sql<{ ahead: bigint }>`
    select greatest(full_at - ${now}, 0) as ahead from request_rates
    where org_id = ${org_id} and user_id = ${user_id}`.execute(db)
  return Number(result.rows[0]?.ahead ?? 0)
}

function headersOf({ limit, cost, ahead }: { limit: number; cost: number; ahead: number }): Record<string, string> {
  const remaining = Math.max(0, Math.floor((cost * limit - ahead) / cost))
  return {
    'x-ratelimit-limit-requests': String(limit),
    'x-ratelimit-remaining-requests': String(remaining),
    'x-ratelimit-reset-requests': duration(Math.ceil(ahead / 1_000_000)),
  }
}

/** `1s`, `6m0s`. */
function duration(seconds: number): string {
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}
