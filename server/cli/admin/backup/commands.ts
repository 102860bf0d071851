import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openStorage, placeOf } from '../../../files/open-blobs.ts'
import { recordActivity } from '../../../identity/activity/activity.ts'
import { databaseTime } from '../../../platform/db/database-clock.ts'
import { VERSION } from '../../../platform/start/version.ts'
import { aloneCommand, CommandError, type Report } from '../command.ts'
import { openAdminDatabase } from '../database.ts'
import type { Manifest } from './manifest.ts'
import { restoreBackup, verifyBackup } from './restore.ts'
import { secretHome, takeBackup } from './take.ts'

export const backup = aloneCommand({
  summary: 'copy database and files into a new directory, while the service runs',
  records: 'backup.take',
  flags: {
    out: { value: '<path>', help: 'The directory in which kinora-backup-<time> is made', required: true },
    'without-secret': { help: 'Leave the secret of the data directory out' },
    incomplete: { help: 'Leave out files that are missing or damaged, instead of failing' },
  },
  async runAlone({ config, actor }, { out, 'without-secret': without, incomplete }) {
    requireDirectory(out)
    const blobs_dir = join(config.data_dir, 'blobs')
    const database = await openAdminDatabase(config, { migrate: false })
    const began = performance.now()
    try {
      const path = pathOf(out, await databaseTime(database.pool))
      const manifest = await takeBackup({
        url: database.url,
        blobs: openStorage(config.storage, { blobs_dir }),
        storage_name: placeOf(config.storage, blobs_dir),
        data_dir: without ? null : secretHome(config),
        out: path,
        kinora: VERSION,
        incomplete,
      })
      const deed = { actor, action: 'backup.take', org_id: null, target: path } as const
      const now = await databaseTime(database.pool)
      await database.db.transaction().execute((tx) => recordActivity(tx, { ...deed, now }))
      const seconds = Number(((performance.now() - began) / 1000).toFixed(1))
      return reportOf({ backup: path, database: database.name, ...summaryOf(manifest), seconds }, [
        ...notesOn(manifest),
        ...(config.previous_secrets.length > 0 ? [PREVIOUS_ELSEWHERE] : []),
      ])
    } finally {
      await database.close()
    }
  },
})

export const restore = aloneCommand({
  summary: 'make a new data directory from a backup; into DATABASE_URL, an empty database, where that is set',
  records: null,
  flags: {
    from: { value: '<path>', help: 'The directory that the backup made', required: true },
    check: { help: 'Only verify the backup' },
    adopt: { help: 'The original no longer runs: the copy may start and continue its jobs' },
  },
  async runAlone({ config }, { from, check, adopt }) {
    const dir = resolve(from)
    if (check) return reportOf({ backup: dir, intact: true, ...summaryOf(await verifyBackup(dir)) }, [])
    const { data_dir, database_url, storage } = config
    const on_left = (note: string) => void process.stderr.write(`kinora admin restore: ${note}\n`)
    const { manifest, database } = await restoreBackup({ from: dir, data_dir, database_url, storage, adopt, on_left })
    const next = adopt
      ? "start it with 'kinora serve'"
      : "once the original no longer runs: 'kinora admin database adopt', then 'kinora serve'"
    return reportOf({ data_dir, database, ...summaryOf(manifest), audit: 'clean', next }, notesOn(manifest))
  },
})

function requireDirectory(out: string): void {
  const path = resolve(out)
  if (existsSync(path) && !statSync(path).isDirectory()) throw new CommandError(`${path} is a file. Name a directory.`)
}

/** Names sort by time, and never differ by the clocks of the machines that took the backups. */
function pathOf(out: string, now: Date): string {
  return join(resolve(out), `kinora-backup-${now.toISOString().replace(/[-:]|\.\d+/g, '')}`)
}

function summaryOf({ kinora, postgres, taken_at, tables, blobs, secret }: Manifest) {
  return {
    taken_at,
    version: kinora,
    postgres,
    tables: tables.length,
    rows: tables.reduce((sum, each) => sum + each.rows, 0),
    files: blobs.count,
    size_bytes: tables.reduce((sum, each) => sum + each.size_bytes, blobs.size_bytes),
    missing: blobs.missing.length,
    secret: secret !== null,
  }
}

function notesOn({ secret, blobs }: Manifest): string[] {
  return [
    ...(secret
      ? []
      : [
          'the secret is not in the backup: keep what KINORA_SECRET or KINORA_SECRET_FILE has, or the file secret of the data directory, and the previous secrets for as long as there are any',
        ]),
    ...(blobs.missing.length === 0 ? [] : ['files are missing, as manifest.json lists them']),
  ]
}

const PREVIOUS_ELSEWHERE =
  'previous secrets are not in the backup: keep what KINORA_SECRET_PREVIOUS or KINORA_SECRET_PREVIOUS_FILE has, which second factors and webhooks may still need'

function reportOf(json: Record<string, unknown>, notes: string[]): Report {
  const rows = [
    ...Object.entries(json).map(([name, value]) => [name, `${value}`]),
    ...notes.map((note) => ['note', note]),
  ]
  return { json: { ...json, notes }, rows }
}
