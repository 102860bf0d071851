import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import type { Seen } from './load.ts'

/** Resolves once nothing is in progress: no job, no background response, no delivery. Throws after `seconds`. */
export async function untilQuiet(pool: pg.Pool, seconds: number): Promise<void> {
  const until = performance.now() + seconds * 1000
  for (;;) {
    const { rows } = await pool.query<{ jobs: number; responses: number; deliveries: number }>(`select
      (select count(*)::int from video_jobs where finished_at is null) as jobs,
      (select count(*)::int from responses where background and finished_at is null) as responses,
      (select count(*)::int from event_deliveries where state = 'pending') as deliveries`)
    const unfinished = rows[0]!
    if (unfinished.jobs + unfinished.responses + unfinished.deliveries === 0) return
    if (performance.now() > until) throw new Error(`still in progress: ${JSON.stringify(unfinished)}`)
    await pause(500)
  }
}

/** Everything that is not as it was promised to clients, in words; empty when all is well. */
export async function findBroken(pool: pg.Pool, seen: Seen, received: ReadonlySet<string>): Promise<string[]> {
  const strings = async (sql: string, values: unknown[] = []) =>
    (await pool.query<{ what: string }>(sql, values)).rows.map(({ what }) => what)
  const ended = await strings(`
    select 'video.' || status || ' ' || id as what from video_jobs
    union all select 'response.' || status || ' ' || id from responses where background`)
  const one = "select request_id from ledger_entries where kind = 'charge' and job_id is null"
  return [
    ...seen.wrong,
    ...(await strings(
      `select 'lost video ' || id as what from unnest($1::text[]) as given (id)
       where not exists (select from video_jobs v where v.id = given.id and v.status = 'completed')`,
      [[...seen.videos]],
    )),
    ...(await strings(
      `select 'lost response ' || id as what from unnest($1::text[]) as given (id)
       where not exists (select from responses r where r.id = given.id and r.status = 'completed')`,
      [[...seen.responses]],
    )),
    ...(await strings(`
      select 'video charged ' || count(e.id) || ' times: ' || v.id as what
      from video_jobs v left join ledger_entries e on e.job_id = v.id and e.kind = 'charge'
      group by v.id, v.status having count(e.id) <> case v.status when 'completed' then 1 else 0 end`)),
    ...(await strings(
      `select 'chat charged ' || count(e.request_id) || ' times: ' || given.id as what
       from unnest($1::text[]) as given (id) left join (${one}) e on e.request_id = given.id
       group by given.id having count(e.request_id) <> 1`,
      [[...seen.chats]],
    )),
    ...(await strings(`
      select 'response charged ' || count(e.request_id) || ' times: ' || r.id as what
      from responses r left join (${one}) e on e.request_id = r.request_id
      where r.background and r.status = 'completed' group by r.id having count(e.request_id) <> 1`)),
    ...ended.filter((event) => !received.has(event)).map((event) => `never delivered: ${event}`),
    ...[...received].filter((event) => !ended.includes(event)).map((event) => `delivered and not so: ${event}`),
  ]
}
