import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { buildConsoleWhenStale } from './support/console-build.ts'
import { installedPostgres, startTestServer, type TestServer } from './support/postgres.ts'

/**
 * Runs every test: `node test/run.ts [file …]`. One PostgreSQL serves the run: the embedded one first; then, where
 * `TEST_DATABASE_URL` or an installed PostgreSQL is found, the tests that use a database once more on that.
 */
const named = process.argv.slice(2)
const all = named.length > 0 ? named : globSync(['server/**/*.test.ts', 'console/**/*.test.ts', 'test/**/*.test.ts'])
const files = all.sort()
/** Where the database decides: money, jobs, state and tenants. What only answers requests needs no second run. */
const ON_DATABASE =
  /^test\/(flow|laws)\/|^test\/http\/(billing|identity|tenant|videos|responses-(background|chain|history|stored))/
const onDatabase = files.filter((file) => ON_DATABASE.test(file))

/** A test that hangs is a failure, not a stalled run. */
const FILE_MS_MAX = 600_000

if (files.some((file) => /^test\/(console\/|http\/console-assets)/.test(file))) buildConsoleWhenStale()

const { TEST_DATABASE_URL: given, ...env } = process.env
let failed = await runOn('the embedded PostgreSQL', files, await startTestServer())
if (onDatabase.length > 0 && process.env.KINORA_TEST_ONCE === undefined) {
  const other = given ? { url: given, stop: async () => {} } : await installedPostgres()
  if (other)
    failed = (await runOn(given ? 'TEST_DATABASE_URL' : 'the installed PostgreSQL', onDatabase, other)) || failed
}
process.exitCode = failed ? 1 : 0

async function runOn(name: string, list: string[], server: TestServer): Promise<boolean> {
  process.stdout.write(`\n# ${list.length} test files on ${name}\n`)
  try {
    const args = ['--test', `--test-concurrency=${availableParallelism()}`, `--test-timeout=${FILE_MS_MAX}`, ...list]
    const child = spawn(process.execPath, args, {
      stdio: 'inherit',
      env: { ...env, KINORA_TEST_PG: server.url },
    })
    return await new Promise<boolean>((resolve) => child.on('exit', (code) => resolve(code !== 0)))
  } finally {
    await server.stop()
  }
}
