import { chownSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../start-error.ts'

/** The user that PostgreSQL runs as; `null`: the user of the service. */
export type RunAs = { uid: number; gid: number } | null

/**
 * PostgreSQL refuses to run as root. As root: the owner of an existing cluster, else the first of `kinora`, `postgres`,
 * `nobody` that the system knows. Otherwise the user of the service.
 * Throws StartError if the cluster belongs to a user that the service cannot switch to.
 */
export function chooseUser(cluster: string): RunAs {
  const self = process.getuid?.()
  if (self === undefined) return null
  const owner = existsSync(cluster) ? lstatSync(cluster) : null
  if (self !== 0) {
    if (owner && owner.uid !== self) {
      throw new StartError(
        `The database in ${cluster} belongs to uid ${owner.uid}, but the service runs as uid ${self}.`,
      )
    }
    return null
  }
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : unprivilegedUser()
}

/** The name of the user that PostgreSQL runs as when other programs run as it too, and so may read the database; else null. */
export function sharedUser(runAs: RunAs): string | null {
  const user = runAs && systemUsers().find(({ name, uid }) => uid === runAs.uid && SHARED_USERS.includes(name))
  return user?.name ?? null
}

/** Creates `dir` (mode 0700) and makes the user that PostgreSQL runs as the owner of it and its contents. */
export function makeOwnedDir(dir: string, runAs: RunAs): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (runAs && lstatSync(dir).uid !== runAs.uid) give(dir, runAs)
}

/** Used where there is no `kinora`. */
const SHARED_USERS = ['postgres', 'nobody']

function unprivilegedUser(): RunAs {
  const users = systemUsers()
  for (const wanted of ['kinora', ...SHARED_USERS]) {
    const user = users.find(({ name, uid }) => name === wanted && uid > 0)
    if (user) return { uid: user.uid, gid: user.gid }
  }
  throw new StartError(
    'PostgreSQL does not run as root and this system has no user named kinora, postgres or nobody. ' +
      'Run the service as an ordinary user or set DATABASE_URL.',
  )
}

function systemUsers(): Array<{ name: string; uid: number; gid: number }> {
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
}

function give(path: string, { uid, gid }: { uid: number; gid: number }): void {
  const entry = lstatSync(path)
  if (entry.isSymbolicLink()) return
  chownSync(path, uid, gid)
  if (entry.isDirectory()) for (const name of readdirSync(path)) give(join(path, name), { uid, gid })
}
