import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import type pg from 'pg'
import { blobsKnown } from '../../assembly/background.ts'
import { runAudit } from '../../audit/audit.ts'
import type { Config } from '../../config/config.ts'
import type { StorageConfig } from '../../config/storage.ts'
import { adoptInstallation, pairInstallation, requireSameInstallation } from '../../files/installation.ts'
import { openStorage, placeOf, requireReachable } from '../../files/open-blobs.ts'
import { findInstallation, insertInstallation, isUnused, updateInstallation } from '../../files/store/installation.ts'
import type { Operator } from '../../identity/activity/action.ts'
import { recordActivity } from '../../identity/activity/activity.ts'
import { type DataDir, openDataDir } from '../../platform/data-dir.ts'
import { copyDatabase } from '../../platform/db/copy/database.ts'
import { databaseTime } from '../../platform/db/database-clock.ts'
import { lockDatabase } from '../../platform/db/database-lock.ts'
import { type Database, openDb } from '../../platform/db/db.ts'
import { migrate, requireKnownHistory } from '../../platform/db/migrate.ts'
import { newId } from '../../platform/ids.ts'
import { startEmbeddedPostgres } from '../../platform/postgres/embedded.ts'
import { lowerFirst } from '../../platform/text.ts'
import { requireSafeServer } from '../database.ts'
import { asStartError } from '../database-name.ts'
import { UsageError } from '../flags.ts'
import { aloneCommand, CommandError, type Report } from './command.ts'
import { requireCurrent, requireUsed } from './database.ts'

export const databaseMove = aloneCommand({
  records: 'database.move',
  summary:
    'copy everything to another, empty database: an external one, or back to the embedded one; the service must be stopped',
  flags: {
    to: { value: '<DATABASE_URL|embedded>', help: 'Where to; a password may come from PGPASSWORD', required: true },
  },
  async runAlone({ config, actor }, { to }) {
    if (to !== 'embedded' && !/^postgres(ql)?:\/\//.test(to)) {
      throw new UsageError("--to is neither 'embedded' nor an address that begins with postgres://")
    }
    if (to === 'embedded' && config.database_url === null) {
      throw new CommandError('The database is the embedded one already. Set DATABASE_URL to the one to move from.')
    }
    return withDataDir(config, (dir) =>
      withSide(config.database_url, dir, (source) =>
        withSide(to === 'embedded' ? null : to, dir, (target) =>
          move({ storage: config.storage, dir, actor }, source, target),
        ),
      ),
    )
  },
})

export const databaseAdopt = aloneCommand({
  records: 'database.adopt',
  summary: 'declare that database and files belong together, after restoring a backup; the service must be stopped',
  flags: {},
  async runAlone({ config, actor }) {
    return withDataDir(config, (dir) =>
      withSide(config.database_url, dir, async ({ db, pool, name }) => {
        await requireUsed(pool, name)
        // 'kinora migrate' and a start refuse it until it has been adopted.
        await migrate(pool)
        if (await isUnused(db)) {
          throw new CommandError('The database has no organization: every file would be removed as unknown to it.')
        }
        const id = await adoptInstallation(db, openStorage(config.storage, { blobs_dir: dir.blobs }))
        await record({ db, pool }, { actor, action: 'database.adopt', target: id })
        const json = { installation: id, files: placeOf(config.storage, dir.blobs) }
        return { json, rows: [...Object.entries(json), ['note', 'files that no row knows are removed after a day']] }
      }),
    )
  },
})

/** One end of a move. */
export type Side = { url: string; embedded: boolean; name: string; db: Kysely<Database>; pool: pg.Pool }

async function move(
  { storage, dir, actor }: { storage: StorageConfig; dir: DataDir; actor: Operator },
  source: Side,
  target: Side,
): Promise<Report> {
  const blobs = openStorage(storage, { blobs_dir: dir.blobs })
  await requireReachable(blobs)
  const pair = { db: source.db, blobs, data_dir: dir.path, known: blobsKnown(source.db), database: source.name }
  await requireUsed(source.pool, source.name)
  await requireKnownHistory(source.pool)
  await requireSameInstallation(pair)
  await (source.embedded ? migrate(source.pool) : requireCurrent(source.pool, source.name))
  if (await isUnused(source.db)) throw new CommandError(`${source.name} has nothing to move.`)
  await requireSafeServer(target.pool)
  if (!(await isUnused(target.db)) || (await findInstallation(target.db))) {
    throw new CommandError(
      `${target.name} is not empty. ${target.embedded ? `Move ${dir.postgres} away first.` : 'Name an empty database.'}`,
    )
  }
  await migrate(target.pool)
  const moved_from = await pairInstallation(pair)
  const tables = await copyDatabase(source.pool, target.pool, {
    except: ['schema_migrations', 'installation'],
  })
  const broken = await brokenInvariants(target.db)
  if (broken) {
    throw new CommandError(
      `The copy does not pass the audit (${broken}). The service still starts on the old database.`,
    )
  }
  // In this order: a copy that exists while the source does not know of it could be started beside it.
  const id = newId('installation')
  await record(target, { actor, action: 'database.move', target: id })
  await updateInstallation(source.db, { moved_to: id })
  await insertInstallation(target.db, { id, moved_from })
  return reportOf(source, target, tables)
}

/** What the audit finds, in one line; null: nothing. `at`: when the rows were as they are, by which their retention is judged. */
export async function brokenInvariants(db: Side['db'], at?: Date): Promise<string | null> {
  const broken = (await runAudit(db, at)).filter(({ violations }) => violations > 0)
  return broken.map(({ invariant, title, violations }) => `${invariant} ${title}: ${violations}`).join('; ') || null
}

async function record(
  { db, pool }: Pick<Side, 'db' | 'pool'>,
  deed: { actor: Operator; action: 'database.move' | 'database.adopt'; target: string },
): Promise<void> {
  const now = await databaseTime(pool)
  await db.transaction().execute((tx) => recordActivity(tx, { ...deed, org_id: null, now }))
}

function reportOf(source: Side, target: Side, tables: ReadonlyArray<{ table: string; rows: number }>): Report {
  const rows = tables.reduce((sum, each) => sum + each.rows, 0)
  const json = { from: source.name, to: target.name, tables: tables.length, rows, audit: 'clean' }
  const start = target.embedded ? 'start the service without DATABASE_URL' : 'start the service with this DATABASE_URL'
  const next = `nothing has changed yet; ${start}: from then on ${lowerFirst(source.name)} is refused`
  return { json: { ...json, next }, rows: Object.entries({ ...json, next }).map(([name, value]) => [name, `${value}`]) }
}

/** Holds the data directory, so that no service runs on it meanwhile. */
async function withDataDir<T>(config: Pick<Config, 'data_dir'>, use: (dir: DataDir) => Promise<T>): Promise<T> {
  if (!existsSync(join(config.data_dir, 'blobs'))) {
    throw new CommandError(`No service has run in ${config.data_dir}. Name its directory with --data-dir.`)
  }
  const dir = openDataDir(config.data_dir)
  try {
    return await use(dir)
  } finally {
    dir.release()
  }
}

/** `url` null: the directory's own database. */
export async function withSide<T>(url: string | null, dir: DataDir, use: (side: Side) => Promise<T>): Promise<T> {
  const embedded = url === null ? await startEmbeddedPostgres({ dir: dir.postgres }) : null
  let held: { release(): Promise<void> } | null = null
  const address = url ?? embedded!.url
  const { db, pool, close } = openDb(address, { pool_max: 4 })
  const name = embedded ? `The embedded database of ${dir.path}` : `The database ${withoutPassword(address)}`
  try {
    await pool.query('select 1').catch((error: unknown) => {
      throw asStartError(error, lowerFirst(name))
    })
    // A data directory that nobody uses says nothing of nodes elsewhere.
    if (!embedded) {
      const refusal = () =>
        `A service runs on ${lowerFirst(name)}. Stop every node of it first, on whatever machine it is.`
      held = await lockDatabase(address, { node: newId('node'), mode: 'alone', refusal, on_taken: () => {} })
    }
    return await use({ url: address, embedded: embedded !== null, name, db, pool })
  } finally {
    await held?.release()
    await close()
    await embedded?.stop()
  }
}

function withoutPassword(address: string): string {
  const url = new URL(address)
  url.password = ''
  return url.href
}
