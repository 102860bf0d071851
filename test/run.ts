import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildConsoleWhenStale } from './support/browser/console-build.ts'
import { installedPostgres, startTestServer, type TestServer } from './support/data/postgres.ts'
import type { EndLine } from './support/end-reporter.ts'
import { testFilesOf } from './support/named-tests.ts'

/**
 * Runs every test: `node test/run.ts [file or folder …]`. One PostgreSQL serves the run: the embedded one first; then, where
 * `TEST_DATABASE_URL` or an installed PostgreSQL is found, the tests that use a database once more on that. Ends with what was skipped and
 * what failed, so that the last lines say all that is to be done.
 */
const files = testFilesOf(process.argv.slice(2))
/** Where the database decides: money, jobs, state and tenants. What only answers requests, or measures, needs no second run. */
const ON_DATABASE =
  /^test\/(flow|laws(?!\/(long|large)))\/|^test\/http\/(billing|identity|tenant|videos|responses\/(background|chain|history|stored))/
const onDatabase = files.filter((file) => ON_DATABASE.test(file))

/** A test that hangs is a failure, not a stalled run. */
const FILE_MS_MAX = 600_000

if (files.some((file) => /^test\/(console\/|http\/console\/assets|cli\/package)/.test(file))) buildConsoleWhenStale()

const { TEST_DATABASE_URL: given, ...env } = process.env
const skipped: string[] = []
const failures: string[] = []
let failed = await runOn('the embedded PostgreSQL', files, await startTestServer())
if (onDatabase.length > 0) failed = (await runOnAnother()) || failed
printSkipped()
printFailures()
process.exitCode = failed ? 1 : 0

async function runOnAnother(): Promise<boolean> {
  const skip = (how: string) => skipped.push(...onDatabase.map(() => `test files on another PostgreSQL: ${how}`))
  if (process.env.KINORA_TEST_ONCE !== undefined) {
    skip('unset KINORA_TEST_ONCE')
    return false
  }
  const other = given ? { url: given, stop: async () => {} } : await installedPostgres()
  if (other) return runOn(given ? 'TEST_DATABASE_URL' : 'the installed PostgreSQL', onDatabase, other)
  skip('install PostgreSQL 15 or later, or set TEST_DATABASE_URL')
  return false
}

async function runOn(name: string, list: string[], server: TestServer): Promise<boolean> {
  process.stdout.write(`\n# ${list.length} test files on ${name}\n`)
  const dir = mkdtempSync(join(tmpdir(), 'kinora-tests-'))
  const end = join(dir, 'end')
  try {
    const reporters = [
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...[`--test-reporter=${import.meta.resolve('./support/end-reporter.ts')}`, `--test-reporter-destination=${end}`],
    ]
    const limits = [`--test-concurrency=${availableParallelism()}`, `--test-timeout=${FILE_MS_MAX}`]
    const args = ['--test', ...reporters, ...limits, ...list]
    const child = spawn(process.execPath, args, {
      stdio: 'inherit',
      env: { ...env, KINORA_TEST_PG: server.url },
    })
    const failed = await new Promise<boolean>((resolve) => child.on('exit', (code) => resolve(code !== 0)))
    const found = existsSync(end) ? readFileSync(end, 'utf8') : ''
    for (const text of found.split('\n').filter(Boolean)) {
      const line: EndLine = JSON.parse(text)
      if ('skipped' in line) skipped.push(line.skipped)
      else failures.push(`on ${name}: ${line.failed}`)
    }
    return failed
  } finally {
    await server.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** What this run did not try, with the reason of each test, which says how to have it run. */
function printSkipped(): void {
  if (skipped.length === 0) return
  const lines = [...Map.groupBy(skipped, (reason) => reason)].map(([reason, { length }]) => `  ${length} · ${reason}\n`)
  process.stdout.write(`\n# Skipped: ${skipped.length}\n${lines.sort().join('')}`)
}

/** Once more, below everything else, where a log that was cut at its front still has it. */
function printFailures(): void {
  if (failures.length === 0) return
  process.stdout.write(`\n# Failed: ${failures.length}\n${failures.map((each) => `  ${each}\n`).join('')}`)
}
