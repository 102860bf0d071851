import type { Kysely, KyselyPlugin, RootOperationNode } from 'kysely'
import type { Database } from '../../../server/platform/db/db.ts'
import type { TestDatabase } from './postgres.ts'

/** Makes the statements of `run`, and returns the plan that PostgreSQL has for each, as text. Rows that it may count on: analyze first. */
export async function plansOf(
  { db, pool }: Pick<TestDatabase, 'db' | 'pool'>,
  run: (db: Kysely<Database>) => Promise<unknown>,
): Promise<string[]> {
  const nodes: RootOperationNode[] = []
  const recorder: KyselyPlugin = {
    transformQuery({ node }) {
      nodes.push(node)
      return node
    },
    transformResult: async ({ result }) => result,
  }
  await run(db.withPlugin(recorder))
  const plans: string[] = []
  for (const node of nodes) {
    const { sql, parameters } = db.getExecutor().compileQuery(node, { queryId: 'plan' })
    const { rows } = await pool.query(`explain (costs off) ${sql}`, parameters as unknown[])
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
  }
  return plans
}
