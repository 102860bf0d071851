import type pg from 'pg'
import { StartError } from '../start-error.ts'
import { copyRows } from './copy-table.ts'

export type CopiedTable = { table: string; rows: number }

/**
 * Copies every row of the schema `public` from one snapshot of a database into another of the same schema whose tables are empty: all of
 * it, counted on both sides, or nothing. Tables in `except` are left out.
 * Needs no right on the target but to own its tables. Throws StartError when a table of the target has rows or a count differs.
 */
export async function copyDatabase(
  source: pg.Pool,
  target: pg.Pool,
  options: { except: readonly string[] },
): Promise<CopiedTable[]> {
  const [from, into] = await Promise.all([source.connect(), target.connect()])
  let broken: Error | undefined
  try {
    await from.query('begin isolation level repeatable read read only')
    await into.query('begin')
    // While one side checks or counts a large table, the other waits.
    for (const side of [from, into]) await side.query('set local idle_in_transaction_session_timeout = 0')
    const copied = await copyAll(from, into, options)
    await copySequences(from, into)
    await into.query('commit')
    return copied
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    // Closing the connections ends both transactions, whatever state they are in.
    from.release(true)
    into.release(broken ?? true)
  }
}

async function copyAll(
  from: pg.PoolClient,
  into: pg.PoolClient,
  { except }: { except: readonly string[] },
): Promise<CopiedTable[]> {
  const tables = (await tablesInOrder(into)).filter((table) => !except.includes(table))
  for (const table of tables) {
    if ((await count(into, `public.${table}`)) > 0) {
      throw new StartError(`The target is not empty: its table ${table} has rows. Name an empty database.`)
    }
  }
  const copied: CopiedTable[] = []
  for (const table of tables) {
    // Our triggers watch what changes; these rows have been through them. Foreign keys are checked all the same.
    await into.query(`alter table public."${table}" disable trigger user`)
    copied.push({ table, rows: await copyTable(from, into, `public."${table}"`) })
    await into.query(`alter table public."${table}" enable trigger user`)
  }
  return copied
}

async function copyTable(from: pg.PoolClient, into: pg.PoolClient, table: string): Promise<number> {
  const columns = await columnsOf(into, table)
  await copyRows(from, into, {
    from: `(select ${columns} from ${table})`,
    into: `${table} (${columns})`,
  })
  const [sent, stored] = [await count(from, table), await count(into, table)]
  if (sent === stored) return stored
  throw new StartError(`Of ${sent} rows of ${table} only ${stored} arrived. Nothing was copied.`)
}

async function columnsOf(client: pg.PoolClient, table: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  )
  return rows[0]!.columns
}

async function count(client: pg.PoolClient, table: string): Promise<number> {
  const { rows } = await client.query<{ n: bigint }>(`select count(*) as n from ${table}`)
  return Number(rows[0]!.n)
}

/** Every table of `public`, those that others refer to first. */
async function tablesInOrder(client: pg.PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ table: string; needs: string[] }>(
    `select c.relname as table,
            array(select distinct other.relname::text from pg_constraint k join pg_class other on other.oid = k.confrelid
                  where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by c.relname`,
  )
  const ordered: string[] = []
  while (ordered.length < rows.length) {
    const ready = rows.filter(
      ({ table, needs }) => !ordered.includes(table) && needs.every((each) => ordered.includes(each)),
    )
    if (ready.length === 0) throw new Error('tables refer to each other in a circle')
    ordered.push(...ready.map(({ table }) => table))
  }
  return ordered
}

/** New rows go on counting where the source had come to. */
async function copySequences(from: pg.PoolClient, into: pg.PoolClient): Promise<void> {
  const { rows } = await from.query<{ name: string; last: string }>(
    `select quote_ident(schemaname) || '.' || quote_ident(sequencename) as name, last_value::text as last from pg_sequences
     where schemaname = 'public' and last_value is not null`,
  )
  for (const { name, last } of rows) await into.query('select setval($1::regclass, $2::bigint)', [name, last])
}
