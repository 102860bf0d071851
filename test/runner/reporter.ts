import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import type { FromWorker } from './messages.ts'

/** A reporter of `node:test` for a worker process: sends the outcome of each test to the runner and prints nothing. Source: https://nodejs.org/api/test.html#custom-reporters */
// biome-ignore lint/correctness/useYield: events leave by IPC.
export default async function* reporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  /** By file, errors that no test was there to catch. */
  const outside = new Map<string | undefined, string>()
  for await (const { type, data } of source) {
    if (type === 'test:diagnostic' && /^(Error|Warning): /.test(data.message)) outside.set(data.file, data.message)
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const isFile = data.nesting === 0
    const message = type === 'test:pass' ? passed(data) : failed(data, outside.get(data.file))
    if (message && !(isFile && type === 'test:pass')) process.send!(message)
    if (isFile) waiting.get(data.name)?.()
  }
}

const waiting = new Map<string, () => void>()

/** Resolves when the suite of this name has ended, its hooks included. */
export function fileEnded(path: string): Promise<void> {
  return new Promise((resolve) => waiting.set(path, resolve))
}

type Ended = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>['data']

/** Suites are counted by their tests. */
function passed({ name, skip, details }: Ended): FromWorker | undefined {
  if (skip !== undefined) {
    const reason = typeof skip === 'string' && skip !== '' ? skip : `${name}: no reason given`
    return { test: { name, outcome: 'skipped', reason } }
  }
  return details.type === 'suite' ? undefined : { test: { name, outcome: 'passed' } }
}

function failed({ name, file, line, nesting, details }: Ended, outside = ''): FromWorker | undefined {
  const error = (details as { error?: Error & { cause?: unknown; failureType?: string } }).error
  // The test inside has said it already.
  if (error?.failureType === 'subtestsFailed') return undefined
  const { cause = error } = error ?? {}
  const where = file === undefined || nesting === 0 ? '' : `${relative(process.cwd(), file)}:${line}`
  return { test: { name, outcome: 'failed', where, error: `${textOf(cause)}\n${outside}`.trim() } }
}

/** An error with its causes, since `fetch failed` alone says nothing. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const text = withoutNode(error.stack ?? error.message)
  return error.cause === undefined ? text : `${text}\ncaused by ${textOf(error.cause)}`
}

function withoutNode(stack: string): string {
  return stack.replaceAll(/\n +at .*\(?node:internal\/.*/g, '')
}
