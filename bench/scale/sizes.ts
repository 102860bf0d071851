import { chat, chatLoad, startChatService, startUpstream } from '../chat/setup.ts'
import { amountOf } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import type { BenchService } from '../support/service.ts'
import { allEnded, submit } from '../videos/pipeline.ts'

/** Bytes of a table with its indexes and long values, and all that was written to the log that makes commits durable. */
type Written = { tables: number; wal: number }

const ANSWERS = amountOf(50_000)
const JOBS = amountOf(10_000)
const RESPONSES = amountOf(5_000)

/**
 * What one chat answer, one stored response and one video job leave in PostgreSQL, and what each writes to its log (WAL). Bytes are the
 * same however busy the machine is.
 */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: 1, gap_ms: 0 })
  const service = await startChatService(upstream)
  try {
    const own = { ...chatLoad(`${service.url}/v1`, service, false), callers: 64 }
    const answers = await writtenBy(service, ANSWERS, () => chat({ ...own, amount: { answers: ANSWERS } }))
    const stored = { ...own, url: `${service.url}/v1/responses`, body: RESPONSE }
    const responses = await writtenBy(service, RESPONSES, () => chat({ ...stored, amount: { answers: RESPONSES } }))
    const jobs = await writtenBy(service, JOBS, async () => {
      await allEnded(service, await submit(service, [service.api_key], JOBS))
    })
    return [
      ...rowsOf('Chat answer', answers),
      ...rowsOf('Stored response', responses),
      ...rowsOf('Video job, submitted and run', jobs),
    ]
  } finally {
    await service.stop()
    await upstream.stop()
  }
}

const RESPONSE = JSON.stringify({ model: 'fast-1', input: 'Describe a paper boat on a calm lake at dawn.' })

async function writtenBy(service: BenchService, count: number, work: () => Promise<unknown>): Promise<Written> {
  const before = await measure(service)
  await work()
  const after = await measure(service)
  return { tables: (after.tables - before.tables) / count, wal: (after.wal - before.wal) / count }
}

/** After a vacuum: what is measured is what stays. */
async function measure({ pool }: BenchService): Promise<Written> {
  await pool.query('vacuum')
  const { rows } = await pool.query<{ tables: bigint; wal: bigint }>(`select
    (select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace)::int8 as tables,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8 as wal`)
  return { tables: Number(rows[0]!.tables), wal: Number(rows[0]!.wal) }
}

function rowsOf(name: string, { tables, wal }: Written): Row[] {
  return [
    rowOf({ name: `${name}, kept in PostgreSQL`, unit: 'bytes', rounds: [tables] }),
    rowOf({ name: `${name}, written to the log`, unit: 'bytes', rounds: [wal] }),
  ]
}
