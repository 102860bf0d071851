import { sql } from 'kysely'
import type pg from 'pg'
import { declareMetrics, type Metrics } from '../metrics/metrics.ts'
import { refreshGauges } from '../metrics/refresh.ts'
import type { Db } from './db.ts'
import { requireUsable } from './usable.ts'

export const databaseMetrics = declareMetrics((metrics) => ({
  connections: metrics.gauge({
    name: 'kinora_database_connections',
    help: 'Connections of the pool, in use or idle; of those that may be opened, the limit.',
    labels: ['state'],
    merge: 'sum',
  }),
  waiting: metrics.gauge({
    name: 'kinora_database_waiting',
    help: 'Statements that wait for a connection.',
    merge: 'sum',
  }),
  reachable: metrics.gauge({
    name: 'kinora_database_reachable',
    help: '1 when the database answered the last reading, took writes and had room on its disk, else 0.',
    merge: 'max',
  }),
  migration: metrics.gauge({
    name: 'kinora_database_migration',
    help: 'Number of the last migration that was applied.',
    merge: 'max',
  }),
}))

/** Reports the pool of this process. */
export function measurePool(metrics: Metrics, pool: pg.Pool): void {
  const { connections, waiting } = databaseMetrics(metrics)
  connections.of('limit').set(pool.options.max)
  metrics.beforeRead(() => {
    connections.of('idle').set(pool.idleCount)
    connections.of('in_use').set(pool.totalCount - pool.idleCount)
    waiting.of().set(pool.waitingCount)
  })
}

/** Reports whether the database can be used, and the version of its schema. For one process of a service. */
export function measureDatabase(metrics: Metrics, db: Db): void {
  const { reachable, migration } = databaseMetrics(metrics)
  refreshGauges(metrics, {
    async read() {
      await requireUsable(db)
      const { rows } = await sql<{ last: number }>`select max(number) as last from schema_migrations`.execute(db)
      return rows[0]!.last
    },
    set(last) {
      reachable.of().set(1)
      migration.of().set(last)
    },
    unknown() {
      reachable.of().set(0)
      migration.clear()
    },
  })
}
