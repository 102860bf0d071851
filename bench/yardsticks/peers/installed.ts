import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

/** Kept for the next run: an install takes minutes. Named by user, since everybody can write beside it. */
const CACHE = join(tmpdir(), `kinora-bench-peers-${userInfo().uid}`)
/** Written when an install is complete. */
const DONE = 'installed'

/**
 * The directory of an install, `<name>-<version>`, made by these commands when no earlier run has left it there. Null when one of them
 * fails.
 */
export function installed(
  name: string,
  commands: (dir: string) => ReadonlyArray<readonly [program: string, ...args: string[]]>,
): string | null {
  mkdirSync(CACHE, { recursive: true, mode: 0o700 })
  if (lstatSync(CACHE).uid !== userInfo().uid) throw new Error(`${CACHE} belongs to another user`)
  const dir = join(CACHE, name)
  if (existsSync(join(dir, DONE))) return dir
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
  console.log(`  ${name} is fetched into ${dir}`)
  for (const [program, ...args] of commands(dir))
    if (spawnSync(program, args, { stdio: 'ignore', cwd: dir }).status !== 0) return null
  writeFileSync(join(dir, DONE), '')
  return dir
}

/** Whether a program is on the path. */
export function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(':').some((dir) => dir !== '' && existsSync(join(dir, program)))
}
