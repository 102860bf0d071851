import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { passesOf } from './runner/passes.ts'
import { type Batch, type Failure, type RunResult, runFiles } from './runner/runner.ts'
import { inRandomOrder, testFilesOf } from './runner/select-files.ts'
import { bundleServer } from './runner/server-bundle.ts'
import { buildConsoleWhenStale } from './support/browser/console-build.ts'
import { inMemory, type TestServer } from './support/data/postgres.ts'
import { ROOT } from './support/sources.ts'
import { CHECK_ONLY, reasonIn } from './tiers.ts'

/**
 * `node test/run.ts [file or folder …]` runs the tests of `npm test`; with `--check` those of `npm run check`, on every database and storage
 * of `runner/passes.ts`. Files that are named are always run. `--shuffle` runs the files in a random order, `--shuffle=<seed>` in that
 * one again. `--report <file>` writes each file's tests and times as JSON. The last lines say what failed, what was not run, and why.
 * `KINORA_TEST_WORKERS` is how many files run at once; by default one more than there are cores, since a test waits half of its time.
 */
const { values, positionals } = parseArgs({
  args: process.argv
    .slice(2)
    .map((each) => (each === '--shuffle' ? `--shuffle=${Math.floor(Math.random() * 2 ** 31)}` : each)),
  allowPositionals: true,
  options: { check: { type: 'boolean' }, shuffle: { type: 'string' }, report: { type: 'string' } },
})
const check = values.check ?? false

/** A test that hangs is a failure, not a stalled run. So is a file that does not end after its tests. */
const TEST_SECONDS_MAX = 600
const FILE_SECONDS_MAX = Number(process.env.KINORA_TEST_FILE_SECONDS ?? 900)
/** What one process compiled, later ones and the next run read from here. */
const COMPILED = join(ROOT, 'node_modules', '.cache', 'kinora', 'tests')

const began = performance.now()
const found = testFilesOf(positionals)
const left_out = positionals.length > 0 || check ? [] : found.filter((path) => reasonIn(CHECK_ONLY, path))
const in_order = found.filter((path) => !left_out.includes(path))
const files = values.shuffle === undefined ? in_order : inRandomOrder(in_order, Number(values.shuffle))
const { passes, not_run } = passesOf(files, { check, env: process.env })

if (values.shuffle !== undefined) print(`# Files in random order: --shuffle=${values.shuffle}`)
if (files.some((path) => /^test\/(console\/|http\/console\/assets|cli\/package)/.test(path))) buildConsoleWhenStale()
const server = files.some((path) => /^test\/(cli\/|crash\/|http\/identity\/admin)/.test(path))
  ? { KINORA_TEST_SERVER: await bundleServer() }
  : {}
const result = await runPasses()
if (values.report !== undefined) writeFileSync(values.report, JSON.stringify(result.files, null, 1))
summarize(result)

/** Every pass on its own server. A process that finds no file left in one pass goes on to the next. */
async function runPasses(): Promise<RunResult> {
  const { TEST_DATABASE_URL: _, NODE_TEST_CONTEXT: __, ...env } = process.env
  const temp = mkdtempSync(join(inMemory() ?? tmpdir(), 'k-'))
  // The database of a service that is started as root belongs to another user.
  chmodSync(temp, 0o711)
  process.once('exit', () => rmSync(temp, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }))
  const prepared = join(temp, 'prepared')
  mkdirSync(prepared, { mode: 0o711 })
  const databases: TestServer[] = []
  try {
    const batches: Batch[] = []
    for (const { name, files: list, env: own, start } of passes) {
      const database = await start()
      databases.push(database)
      const common = {
        NODE_COMPILE_CACHE: COMPILED,
        ...env,
        TMPDIR: temp,
        ...server,
        KINORA_TEST_PREPARED: prepared,
        ...(check && { KINORA_TESTS: 'check' }),
      }
      batches.push({ name, files: list, env: { ...common, ...own, KINORA_TEST_PG: database.url } })
      print(`# ${list.length} test files on ${name}`)
    }
    let ended = 0
    const count = batches.reduce((sum, { files }) => sum + files.length, 0)
    return await runFiles({
      batches,
      workers: Number(process.env.KINORA_TEST_WORKERS ?? availableParallelism() + 1),
      file_seconds_max: FILE_SECONDS_MAX,
      test_seconds_max: TEST_SECONDS_MAX,
      onFile(file, failures, { name }) {
        ended += 1
        const tests = `${file.titles.length} ${file.titles.length === 1 ? 'test' : 'tests'}`
        const where = name === passes[0]!.name ? '' : ` on ${name}`
        print(
          `[${ended}/${count}] ${failures.length > 0 ? '✖' : '✔'} ${file.path}${where} (${tests}, ${seconds(file.ms)} s, ${seconds(file.cpu_ms)} s of CPU)`,
        )
        for (const each of failures) print(`    ${textOf(each, 40)}`)
      },
      onProgress: (running) => print(`# ${elapsed()}: ${ended} of ${count} files; running ${running.join(', ')}`),
    })
  } finally {
    for (const database of databases) await database.stop()
  }
}

/** Ends with one line that tools read: `N passed, N failed, N skipped`. */
function summarize({ passed, failures, skipped }: RunResult): void {
  const reasons = [
    ...skipped,
    ...not_run.flatMap(({ files, how }) => files.map(() => `files on another database: ${how}`)),
  ]
  if (not_run.length > 0 && process.env.KINORA_ALL_CLIENTS !== undefined)
    failures.push(...not_run.map(({ how }) => ({ name: 'no other PostgreSQL is installed', where: '', error: how })))
  printCounts(`Skipped: ${reasons.length}`, reasons)
  printCounts(
    `Not run: ${left_out.length} files, other looks of the console, and three of four random tries; \`npm run check\` runs them`,
    left_out.map((path) => reasonIn(CHECK_ONLY, path)!),
  )
  if (failures.length > 0)
    print(`\n# Failed: ${failures.length}\n${failures.map((each) => `  ${textOf(each, 16)}`).join('\n')}`)
  print(`\n# ${check ? 'npm run check' : 'npm test'}: ${elapsed()}`)
  print(`${passed} passed, ${failures.length} failed, ${skipped.length} skipped`)
  process.exitCode = failures.length > 0 ? 1 : 0
}

function printCounts(title: string, reasons: readonly string[]): void {
  if (reasons.length === 0) return
  const lines = [...Map.groupBy(reasons, (reason) => reason)].map(([reason, { length }]) => `  ${length} · ${reason}`)
  print(`\n# ${title}\n${lines.sort().join('\n')}`)
}

function textOf({ name, where, error }: Failure, lines: number): string {
  return [`✖ ${where} ${name}`.replace('  ', ' '), ...error.split('\n').slice(0, lines)]
    .filter(Boolean)
    .join('\n      ')
}

function elapsed(): string {
  const total = Math.round((performance.now() - began) / 1000)
  return `${Math.floor(total / 60)} min ${total % 60} s`
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
