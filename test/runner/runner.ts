import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { killTree } from '../support/processes.ts'
import type { FromWorker, ToWorker } from './messages.ts'

export type FileResult = { path: string; ms: number; cpu_ms: number; titles: string[] }
export type Failure = { name: string; where: string; error: string }

export type RunResult = {
  files: FileResult[]
  passed: number
  failures: Failure[]
  /** Reasons, one for each test that was skipped. */
  skipped: string[]
}

/** Files that run in processes with this environment. `name` is for whoever reads the output. */
export type Batch = { name: string; files: readonly string[]; env: NodeJS.ProcessEnv }

export type RunOptions = {
  /** One after another, but no process waits for the last file of a batch. */
  batches: readonly Batch[]
  workers: number
  file_seconds_max: number
  test_seconds_max: number
  /** Called as each file ends. */
  onFile(file: FileResult, failed: Failure[], batch: Batch): void
  /** Called twice a minute. */
  onProgress(running: string[]): void
}

const WORKER = join(import.meta.dirname, 'worker.ts')
const PROGRESS_MS = 30_000
/** A process that has ended its files and is still there after this has left something open. */
const END_MS = 60_000
/** What earlier files leave in memory must not decide whether later ones pass. */
const FILES_PER_WORKER = 60

/** Runs test files in `workers` processes that each take the next one when they are free. Never rejects because of a test. */
export async function runFiles(options: RunOptions): Promise<RunResult> {
  const result: RunResult = { files: [], passed: 0, failures: [], skipped: [] }
  const queues = options.batches.map((batch) => ({ batch, list: [...batch.files] }))
  const running = new Set<string>()
  const progress = setInterval(() => options.onProgress([...running]), PROGRESS_MS)
  const lane = async () => {
    for (const { batch, list } of queues) {
      while (list.length > 0) await runWorker({ ...options, batch, list, running, result })
    }
  }
  await Promise.all(Array.from({ length: options.workers }, lane))
  clearInterval(progress)
  return result
}

type Lane = RunOptions & { batch: Batch; list: string[]; running: Set<string>; result: RunResult }

/** A file that a process is running. */
type Running = { path: string; titles: string[]; failures: Failure[]; timer: NodeJS.Timeout }

/** One process, from its start to its end: takes files from `list` until that is empty, it has run enough, a file left something open, or it dies. */
function runWorker(lane: Lane): Promise<void> {
  const { batch, list, running, result, file_seconds_max, onFile } = lane
  const worker = startWorker(batch.env, lane)
  const send = (message: ToWorker) => worker.send(message)
  let current: Running | null = null
  let count = 0
  let how = ''

  const begin = () => {
    const path = count < FILES_PER_WORKER ? list.shift() : undefined
    if (path === undefined) {
      setTimeout(() => kill(`has not ended within ${END_MS / 1000} s of its last file`), END_MS).unref()
      return send({ end: true })
    }
    count += 1
    running.add(path)
    const timer = setTimeout(() => kill(`has not ended in ${file_seconds_max} s`), file_seconds_max * 1000)
    current = { path, titles: [], failures: [], timer }
    send({ run: path })
  }
  const end = ({ path, titles, failures, timer }: Running, spent: { ms: number; cpu_ms: number }) => {
    clearTimeout(timer)
    running.delete(path)
    current = null
    const file = { path, titles, ...spent }
    result.files.push(file)
    result.failures.push(...failures)
    onFile(file, failures, batch)
  }
  const kill = (why: string) => {
    how = why
    killTree(worker.pid!)
  }

  worker.on('message', (message: FromWorker) => {
    if ('ready' in message) return begin()
    if (!current) return
    if ('test' in message) return record(message.test, { current, result })
    const { left_open, ms, cpu_ms } = message.file
    if (left_open !== '') current.failures.push({ name: `left open: ${left_open}`, where: current.path, error: '' })
    end(current, { ms, cpu_ms })
    // Later files start in a clean process.
    if (left_open !== '') return kill('')
    begin()
  })
  return new Promise((resolve) =>
    worker.once('exit', (code, signal) => {
      const failure = {
        name: how || `ended its process (${signal ?? code})`,
        where: current?.path ?? 'a test process',
        error: '',
      }
      if (current) {
        current.failures.push(failure)
        end(current, { ms: 0, cpu_ms: 0 })
      } else if (how !== '') result.failures.push(failure)
      resolve()
    }),
  )
}

type Outcome = Extract<FromWorker, { test: unknown }>['test']

function record(test: Outcome, { current, result }: { current: Running; result: RunResult }): void {
  current.titles.push(test.name)
  if (test.outcome === 'passed') result.passed += 1
  else if (test.outcome === 'skipped') result.skipped.push(test.reason)
  else current.failures.push(test)
}

function startWorker(env: NodeJS.ProcessEnv, { test_seconds_max }: Pick<RunOptions, 'test_seconds_max'>): ChildProcess {
  const reporter = import.meta.resolve('./reporter.ts')
  return fork(WORKER, [], {
    execArgv: [
      ...['--import', import.meta.resolve('../support/start.ts')],
      ...[`--test-reporter=${reporter}`, '--test-reporter-destination=stdout'],
      `--test-timeout=${test_seconds_max * 1000}`,
    ],
    env,
  })
}
