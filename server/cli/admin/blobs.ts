import { join } from 'node:path'
import { NAMED_BLOBS } from '../../assembly/background.ts'
import type { Config } from '../../config/config.ts'
import { openStore, placeOf } from '../../files/open-blobs.ts'
import { findInstallation } from '../../files/store/installation.ts'
import { twoStorages } from '../../platform/blobs/also-read.ts'
import { type Blobs, BlobsAway, DiskFull } from '../../platform/blobs/blobs.ts'
import { type Copied, type CopyOptions, copyBlobs } from '../../platform/blobs/copy.ts'
import { findNamedSha256 } from '../../platform/db/copy/named-blobs.ts'
import type { Db } from '../../platform/db/db.ts'
import { UsageError } from '../flags.ts'
import { CommandError, command, type Report } from './command.ts'

/** Passes over the source: each copies what came while the one before was under way. */
const PASSES_MAX = 10
const PROGRESS_SECONDS = 10
/** Files that a message names. Once those have been put back, the next run names others. */
const NAMED_MAX = 100

export const blobsMove = command({
  summary: 'copy every file from storage.also_read to storage, verified, while the service runs; can be repeated',
  records: null,
  storage: true,
  flags: {
    to: { value: '<disk|s3>', help: 'The kind of storage to move to', required: true },
    incomplete: { help: 'Leave out files that are missing or damaged, instead of failing' },
  },
  async run({ db, config }, { to, incomplete }) {
    if (to !== 'disk' && to !== 's3') throw new UsageError('--to is neither disk nor s3')
    const { also_read, ...store } = config.storage
    if (store.kind !== to || !also_read) throw new CommandError(howToBegin(to))
    const place = { blobs_dir: join(config.data_dir, 'blobs') }
    try {
      return await move(config, db, {
        target: openStore(store as typeof also_read, place),
        source: openStore(also_read, place),
        incomplete,
      })
    } catch (error) {
      if (!(error instanceof BlobsAway || error instanceof DiskFull)) throw error
      throw new CommandError(`Interrupted (${error.message}). Nothing is lost: run the command again, and it goes on.`)
    }
  },
})

async function move(
  { storage, data_dir }: Config,
  db: Db,
  { target, source, incomplete }: { target: Blobs; source: Blobs; incomplete: boolean },
): Promise<Report> {
  const { also_read, ...store } = storage
  await requireServing(db, { target, source })
  const { lost, ...counts } = await copyAll(source, target, (key) => findNamedSha256(db, key, NAMED_BLOBS))
  const blobs_dir = join(data_dir, 'blobs')
  const [from, to] = [placeOf(also_read!, blobs_dir), placeOf(store as typeof also_read & {}, blobs_dir)]
  if (lost.length > 0 && !incomplete) throw lossOf(lost, from)
  // From here on the target may be used alone.
  const { installation_id, paired } = (await target.mark())!
  await target.setMark({ installation_id, paired })
  const next = `take storage.also_read out of the configuration and restart; then ${from} is no longer needed`
  const json = { from, to, ...counts, missing: lost.length, next }
  const rows = Object.entries(json).map(([name, value]) => [name, `${value}`])
  return { json: { ...json, left_out: lost }, rows: [...rows, ...lost.map((key) => ['left out', key])] }
}

/** Copies until nothing is left to copy. `lost`: keys that two passes found and could not read, so not of files deleted meanwhile. */
async function copyAll(source: Blobs, target: Blobs, sha256Of: CopyOptions['sha256Of']) {
  const all = { files: 0, copied: 0, bytes: 0 }
  let before: ReadonlySet<string> = new Set()
  for (let pass = 1; pass <= PASSES_MAX; pass++) {
    const { found, copied, bytes, lost } = await copyBlobs(source, target, { sha256Of, on_progress: progress(all) })
    all.files = found
    all.copied += copied
    all.bytes += bytes
    if (copied === 0 && lost.every((key) => before.has(key))) return { ...all, lost }
    before = new Set(lost)
  }
  throw new CommandError(STILL_WRITTEN)
}

function lossOf(lost: readonly string[], from: string): CommandError {
  const more = lost.length > NAMED_MAX ? ` and ${lost.length - NAMED_MAX} more` : ''
  return new CommandError(
    `${lost.length} of the files in ${from} are missing or damaged, all others are copied: ${lost.slice(0, NAMED_MAX).join(', ')}${more}. ` +
      'Put them back from a backup and run the command again, or go on without them: --incomplete.',
  )
}

/** A service must have started with both: until then it writes to the source, and would go on after the last pass. */
async function requireServing(db: Db, { target, source }: { target: Blobs; source: Blobs }): Promise<void> {
  const [row, mark, of_source] = await Promise.all([
    findInstallation(db),
    twoStorages(target, source).mark(),
    source.mark(),
  ])
  if (!of_source?.partial || !(await target.mark())) {
    throw new CommandError(
      'No service has started with this configuration yet. Restart it with storage and storage.also_read as they are now, on every machine, then run this again.',
    )
  }
  if (!row || row.id !== mark?.installation_id)
    throw new CommandError('These files belong to another database. Name the right one by DATABASE_URL or --data-dir.')
}

const STILL_WRITTEN =
  'Files are still being written to the storage to move from. Restart every service with the new configuration, then run this again.'

function howToBegin(to: 'disk' | 's3'): string {
  const from = to === 's3' ? 'disk' : 's3'
  return (
    `Write into the configuration what new files go to (storage.kind: ${to}) and where the others are (storage.also_read with ` +
    `kind: ${from}), restart the service, then run this again. See docs/operating/buckets.md, Moving files.`
  )
}

/** A line on stderr now and then. */
function progress(before: Pick<Copied, 'copied'>): (so_far: Copied) => void {
  let printedAt = performance.now()
  return ({ found, copied }) => {
    if (performance.now() - printedAt < PROGRESS_SECONDS * 1000) return
    printedAt = performance.now()
    process.stderr.write(`kinora admin blobs move: ${found} files seen, ${before.copied + copied} copied\n`)
  }
}
