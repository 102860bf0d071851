import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StartError } from './start-error.ts'

/** The directory of one service, held by this process until `release`. Paths are absolute; every directory exists. */
export type DataDir = {
  path: string
  /** Home of the embedded PostgreSQL. */
  postgres: string
  /** Home of stored files when storage is `disk`. */
  blobs: string
  /** Scratch space of renders and inspections, empty: what an earlier service left means nothing now. */
  work: string
  release(): void
}

/**
 * Makes the directory (mode 0700) and takes its lock before anything else is touched: one service per data directory. A
 * directory that is not ours and has a `work` of its own is refused.
 * The lock is the kernel's, so a killed service frees it at once and no file goes stale. Local disks only, not NFS.
 * Throws StartError when another service holds it or the directory cannot be used.
 */
export function openDataDir(path: string): DataDir {
  const root = resolve(path)
  makePrivate(root)
  requireKnownFormat(root)
  requireOurs(root)
  const lock = takeLock(root)
  const dir = { path: root, postgres: join(root, 'postgres'), blobs: join(root, 'blobs'), work: join(root, 'work') }
  rmSync(dir.work, { recursive: true, force: true, maxRetries: 3 })
  for (const each of [dir.postgres, dir.blobs, dir.work]) makePrivate(each)
  if (!existsSync(join(root, 'version'))) writeFileSync(join(root, 'version'), `${FORMAT}\n`, { mode: 0o600 })
  return { ...dir, release: () => releaseLock(root, lock) }
}

/** The embedded database's home below a data directory, for commands that visit a running service. Takes no lock. */
export function postgresHome(path: string): string {
  return join(resolve(path), 'postgres')
}

/** While it exists, the directory is being filled from a backup, or that was interrupted. */
export function restoringMark(root: string): string {
  return join(root, 'restoring')
}

/** Of the directory's layout. It changes when an older version could not use what a new one leaves there. */
const FORMAT = 1

/** Before anything is changed, the lock included. A directory without the file `version` is new. */
function requireKnownFormat(root: string): void {
  if (existsSync(restoringMark(root))) {
    throw new StartError(
      `The data directory ${root} was only partly restored from a backup. Empty it and run 'kinora admin restore' again.`,
    )
  }
  const path = join(root, 'version')
  const text = existsSync(path) ? readFileSync(path, 'utf8').trim() : `${FORMAT}`
  if (text === `${FORMAT}`) return
  throw new StartError(
    /^\d{1,9}$/.test(text) && Number(text) > FORMAT
      ? `The data directory ${root} has format ${text} and was made by a newer version of Kinora; this one knows format ${FORMAT}. Start the newer version.`
      : `The file ${path} does not hold the format of the data directory. Put it back from a backup; this version writes ${FORMAT}.`,
  )
}

/** What every directory of ours has had since its first start. */
const MARKS = ['version', 'service.lock', 'service.pid']

/** The scratch space is emptied: one that somebody else filled would be lost. */
function requireOurs(root: string): void {
  const work = join(root, 'work')
  if (MARKS.some((name) => existsSync(join(root, name))) || !existsSync(work) || readdirSync(work).length === 0) return
  throw new StartError(
    `${root} has a directory work that Kinora did not make, and is no data directory. Name another one, such as ${join(root, 'kinora')}.`,
  )
}

function makePrivate(path: string): void {
  try {
    if (mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(path, 0o700)
  } catch (error) {
    throw new StartError(`The data directory ${path} cannot be made: ${(error as Error).message}`)
  }
}

function takeLock(root: string): DatabaseSync {
  const holder = holderPath(root)
  const path = join(root, 'service.lock')
  if (!existsSync(path)) refuseLivingHolder(root, holder)
  let lock: DatabaseSync | null = null
  try {
    lock = new DatabaseSync(path)
    lock.exec('pragma journal_mode = delete; begin exclusive')
  } catch (error) {
    lock?.close()
    if (!isBusy(error)) throw new StartError(`The data directory ${root} cannot be used: ${(error as Error).message}`)
    throw new StartError(
      `The data directory ${root} is in use by another service${pidIn(holder)}. One service per data directory.`,
    )
  }
  writeFileSync(holder, `${process.pid}\n`)
  return lock
}

/** The process id goes first: after the lock, it would be that of the next service. */
function releaseLock(root: string, lock: DatabaseSync): void {
  rmSync(holderPath(root), { force: true })
  lock.close()
}

function holderPath(root: string): string {
  return join(root, 'service.pid')
}

/** A lock file may be deleted under a running service: the directory is not taken while the process recorded in it is alive. */
function refuseLivingHolder(root: string, holder: string): void {
  const pid = existsSync(holder) ? Number(readFileSync(holder, 'utf8')) : 0
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid || !isAlive(pid)) return
  throw new StartError(
    `The file service.lock of the data directory ${root} was deleted while process ${pid} may still use the directory. Stop that process first; if it is another program, delete ${holder}.`,
  )
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** SQLITE_BUSY, https://sqlite.org/rescode.html */
function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === 5
}

function pidIn(file: string): string {
  try {
    return ` (process ${readFileSync(file, 'utf8').trim()})`
  } catch {
    return ''
  }
}
