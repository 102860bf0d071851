import { postgresPooler } from '../../../test/support/upstream/postgres-pooler.ts'
import { dialPostgres } from '../../../test/support/upstream/postgres-proxy.ts'
import type { Installation } from '../installation.ts'
import { withoutSmallDisk } from '../small-disk.ts'
import type { Way } from './way.ts'

/** No node can use it, and requests are 503. */
const UNUSABLE = ['KinoraDatabaseUnreachable', 'KinoraServerErrors']

/** What happens to PostgreSQL, or between it and the nodes. */
export const database: readonly Way[] = [
  {
    name: 'database-restart',
    what: 'PostgreSQL is restarted',
    seconds: { long: 20, short: 3 },
    break: (installation) => installation.database.stop(),
    repair: (installation) => installation.database.start(),
    expects: { a: /^database/, b: /^database/, alerts: UNUSABLE },
  },
  {
    name: 'database-read-only',
    what: 'PostgreSQL is read-only',
    seconds: { long: 20, short: null },
    break: (installation) => installation.database.configure('alter system set default_transaction_read_only = on'),
    repair: (installation) => installation.database.configure('alter system reset default_transaction_read_only'),
    expects: { a: /^database read_only/, b: /^database read_only/, alerts: UNUSABLE },
  },
  {
    name: 'database-disk-full',
    what: 'The disk of PostgreSQL is full',
    seconds: { long: 20, short: null },
    missing: withoutSmallDisk,
    break: ({ disks }) => disks!.database.fill(),
    repair: ({ disks }) => disks!.database.free(),
    expects: { a: /^database/, b: /^database/, alerts: UNUSABLE },
  },
  {
    name: 'cut-off',
    what: 'Packets between one node and PostgreSQL are lost',
    // Longer than a lease.
    seconds: { long: 30, short: null },
    break: ({ network }) => network.database.a.stall(),
    repair: ({ network }) => network.database.a.restore(),
    expects: { a: /^database/, goes_on: ['job', 'response', 'chat', 'stream'], alerts: ['KinoraNodeUnready'] },
  },
  transactionPooler(),
]

function transactionPooler(): Way {
  let pooler: Awaited<ReturnType<typeof postgresPooler>> | undefined
  return {
    name: 'transaction-pooler',
    what: 'A pooler in transaction mode appears before PostgreSQL',
    seconds: { long: 20, short: 3 },
    async break(installation) {
      pooler = await postgresPooler(installation.database.url, { servers_max: 20 })
      pooler.setMode('transaction')
      installation.defer(pooler.close)
      leadTo(installation, pooler.url)
    },
    async repair(installation) {
      leadTo(installation, installation.database.url)
      // The connections it keeps to PostgreSQL are of those that the nodes need.
      await pooler?.close()
    },
    expects: { a: /^database sessions_shared/, b: /^database sessions_shared/, alerts: UNUSABLE },
  }
}

/** Both nodes lose their connections, and find what is at this address when they connect again. */
function leadTo({ network }: Installation, url: string): void {
  for (const relay of Object.values(network.database)) {
    relay.lead(() => dialPostgres(url))
    relay.drop()
  }
}
