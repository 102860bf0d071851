/** What the runner asks of a worker process: run one test file, or end. */
export type ToWorker = { run: string } | { end: true }

/** What a worker process reports: that it is ready, each test that ended, and each file that ended. `left_open` is empty when nothing is. */
export type FromWorker =
  | { ready: true }
  | { test: { name: string; outcome: 'passed' } }
  | { test: { name: string; outcome: 'skipped'; reason: string } }
  | { test: { name: string; outcome: 'failed'; where: string; error: string } }
  | { file: { path: string; ms: number; cpu_ms: number; left_open: string } }
