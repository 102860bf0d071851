import type pg from 'pg'
import { StartError } from '../../start-error.ts'
import { copyRows } from './table.ts'
import { columnsOf, countRows, readSequences, setSequences, tablesInOrder } from './tables.ts'

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
    await setSequences(into, await readSequences(from))
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
    if ((await countRows(into, `public.${table}`)) > 0) {
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
  const [sent, stored] = [await countRows(from, table), await countRows(into, table)]
  if (sent === stored) return stored
  throw new StartError(`Of ${sent} rows of ${table} only ${stored} arrived. Nothing was copied.`)
}
