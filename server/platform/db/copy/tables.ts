import type pg from 'pg'

/** The columns of a table that a row is made of, quoted and joined; generated ones are computed again. */
export async function columnsOf(client: pg.ClientBase, table: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  )
  return rows[0]!.columns
}

export async function countRows(client: pg.ClientBase, table: string): Promise<number> {
  const { rows } = await client.query<{ n: bigint }>(`select count(*) as n from ${table}`)
  return Number(rows[0]!.n)
}

/** Every table of `public`, those that others refer to first. */
export async function tablesInOrder(client: pg.ClientBase): Promise<string[]> {
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

/** A sequence and the last number it gave. */
export type SequenceValue = { name: string; last: string }

/** Every sequence of `public` that was used. */
export async function readSequences(client: pg.ClientBase): Promise<SequenceValue[]> {
  const { rows } = await client.query<SequenceValue>(
    `select quote_ident(schemaname) || '.' || quote_ident(sequencename) as name, last_value::text as last from pg_sequences
     where schemaname = 'public' and last_value is not null`,
  )
  return rows
}

/** New rows go on counting where the source had come to. */
export async function setSequences(client: pg.ClientBase, sequences: readonly SequenceValue[]): Promise<void> {
  for (const { name, last } of sequences) await client.query('select setval($1::regclass, $2::bigint)', [name, last])
}
