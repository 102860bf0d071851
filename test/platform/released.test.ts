import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { migrate } from '../../server/platform/db/migrate.ts'
import { emptyDatabase } from '../support/data/data-dir.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { readReleased, refusalOf } from '../support/released/schema.ts'

const { migration, statements } = readReleased()
const { pool, close } = await testDatabase()
const old = await emptyDatabase()
const before = new pg.Pool({ connectionString: old.url })
await migrate(before, undefined, { up_to: migration })
after(async () => {
  await Promise.all([close(), before.end()])
  await old.drop()
})

test('every statement of the released version is valid on the schema of this one', async () => {
  assert.ok(statements.length > 200)
  const client = await pool.connect()
  const refused: string[] = []
  for (const statement of statements) {
    const reason = await refusalOf(client, statement)
    if (reason !== null) refused.push(`${reason}: ${statement}`)
  }
  client.release()
  assert.deepEqual(refused, [])
})

/**
 * What this version asks of the rows of a released table and the released version does not know of, each with the reason why its rows pass.
 * Emptied at a release.
 */
const KNOWN_TO_PASS: Readonly<Record<string, string>> = {}

test('rows as the released version writes them are accepted by the schema of this one', async () => {
  const [was, is] = await Promise.all([demandsOf(before), demandsOf(pool)])
  const tables = new Set(was.map(({ table }) => table))
  const had = new Set(was.map(({ demand }) => demand))
  const added = is.filter(({ table, demand }) => tables.has(table) && !had.has(demand)).map(({ demand }) => demand)
  assert.deepEqual(
    added.filter((demand) => !(demand in KNOWN_TO_PASS)),
    [],
    'give the column a default or leave it nullable, or list the constraint with the reason why old rows pass',
  )
  assert.deepEqual(
    Object.keys(KNOWN_TO_PASS).filter((demand) => !added.includes(demand)),
    [],
    'listed, and not there',
  )
})

test('a dropped column, a column that makes a name ambiguous and a new demand are found', async () => {
  const client = await before.connect()
  const statement = 'select id, created_at from files join file_pins on file_id = id'
  try {
    await client.query('begin')
    assert.equal(await refusalOf(client, statement), null)
    await client.query('alter table file_pins add column created_at timestamptz; savepoint added')
    assert.match((await refusalOf(client, statement)) ?? '', /created_at" is ambiguous/)
    await client.query('rollback; begin; alter table file_pins add column why text not null')
    assert.ok((await demandsOf(client)).some(({ demand }) => demand === 'file_pins.why is not null and has no default'))
    await client.query('rollback; begin; alter table files drop column filename')
    assert.match((await refusalOf(client, 'select filename from files')) ?? '', /does not exist/)
  } finally {
    await client.query('rollback')
    client.release()
  }
})

/** What each table asks of a row: values for columns, and constraints, by their definition. */
async function demandsOf(db: pg.Pool | pg.PoolClient): Promise<Array<{ table: string; demand: string }>> {
  const { rows } = await db.query<{ table: string; demand: string }>(`
    select c.relname as table, c.relname || '.' || a.attname || ' is not null and has no default' as demand
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
      and a.attnotnull and not a.atthasdef and a.attidentity = ''
    union all
    select c.relname, c.relname || ': ' || pg_get_constraintdef(k.oid)
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where c.relnamespace = 'public'::regnamespace and k.contype in ('c', 'f', 'u', 'x')
    union all
    select c.relname, c.relname || ': unique ' || regexp_replace(pg_get_indexdef(i.indexrelid), '^.* USING ', '')
    from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace = 'public'::regnamespace and i.indisunique
    order by 2`)
  return rows
}
