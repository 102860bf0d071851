import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildConsoleWhenStale } from './support/browser/console-build.ts'
import type { EndLine } from './support/end-reporter.ts'
import { limitTestFiles } from './support/file-limit.ts'
import { testFilesOf } from './support/named-tests.ts'
import { type Pass, passesOf } from './support/passes.ts'
import { ROOT } from './support/sources.ts'

/**
 * Runs every test: `node test/run.ts [file or folder …]`, in the passes of `support/passes.ts`, each on one PostgreSQL that its files
 * share. Ends with what was skipped and what failed, so that the last lines say all that is to be done.
 */
const files = testFilesOf(process.argv.slice(2))
const { passes, left_out } = passesOf(files, process.env)

/** A test that hangs is a failure, not a stalled run; so is one whose file does not end after it. */
const TEST_SECONDS_MAX = 600
const FILE_SECONDS_MAX = Number(process.env.KINORA_TEST_FILE_SECONDS ?? 900)
/** Half of what a test file costs is to read the service: what the first file compiled, the others take from here. */
const COMPILED = join(ROOT, 'node_modules', '.cache', 'kinora', 'tests')

if (files.some((file) => /^test\/(console\/|http\/console\/assets|cli\/package)/.test(file))) buildConsoleWhenStale()

const { TEST_DATABASE_URL: _, ...env } = process.env
const skipped: string[] = left_out.files.map(() => `test files on another PostgreSQL: ${left_out.how}`)
const failures: string[] = []
let failed = left_out.files.length > 0 && requireAll(left_out.how)
for (const pass of passes) failed = (await run(pass)) || failed
printSkipped()
printFailures()
process.exitCode = failed ? 1 : 0

/** With `KINORA_ALL_CLIENTS`, as in CI, nothing that could be installed is left out in silence. */
function requireAll(how: string): boolean {
  if (process.env.KINORA_ALL_CLIENTS === undefined || process.env.KINORA_TEST_ONCE !== undefined) return false
  failures.push(`no other PostgreSQL: ${how}`)
  return true
}

async function run({ name, files: list, env: own, start }: Pass): Promise<boolean> {
  process.stdout.write(`\n# ${list.length} test files on ${name}\n`)
  const server = await start()
  const dir = mkdtempSync(join(tmpdir(), 'kinora-tests-'))
  const end = join(dir, 'end')
  try {
    const reporters = [
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...[`--test-reporter=${import.meta.resolve('./support/end-reporter.ts')}`, `--test-reporter-destination=${end}`],
    ]
    const limits = [`--test-concurrency=${availableParallelism()}`, `--test-timeout=${TEST_SECONDS_MAX * 1000}`]
    const args = ['--import', import.meta.resolve('./support/start.ts'), '--test', ...reporters, ...limits, ...list]
    const child = spawn(process.execPath, args, {
      stdio: 'inherit',
      env: { NODE_COMPILE_CACHE: COMPILED, ...env, ...own, KINORA_TEST_PG: server.url },
    })
    const stopLimit = limitTestFiles(child, { seconds: FILE_SECONDS_MAX })
    const failed = await new Promise<boolean>((resolve) => child.on('exit', (code) => resolve(code !== 0)))
    stopLimit()
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
