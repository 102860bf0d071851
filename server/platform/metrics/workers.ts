import type { Worker } from 'node:cluster'
import { openMembers, toText } from './exposition.ts'
import type { ReadMetric } from './metrics.ts'

/** Longest the reading of one process may take: more than it waits for gauges that cannot be read, less than Prometheus waits. */
const ANSWER_MILLISECONDS = 5000

type Asked = { metrics_wanted: number }
type Answered = { metrics_read: number; metrics: ReadMetric[] }

/** In an HTTP process: answers the main process when it asks for metrics. */
export function answerReadings(read: () => Promise<ReadMetric[]>): void {
  process.on('message', (message: Partial<Asked>) => {
    const { metrics_wanted } = message
    if (metrics_wanted === undefined) return
    void read().then((metrics) => process.send?.({ metrics_read: metrics_wanted, metrics } satisfies Answered))
  })
}

/** In the main process: reads it and its HTTP processes as one text. A process that does not answer in time is left out of the gauges. */
export function serviceReader(
  readMain: () => Promise<ReadMetric[]>,
  workers: () => readonly Worker[],
): () => Promise<string> {
  const members = openMembers()
  const known = new Set<number>()
  let count = 0
  return async () => {
    const now = workers()
    for (const worker of now) {
      if (known.has(worker.id)) continue
      known.add(worker.id)
      worker.once('exit', () => members.gone(worker.id))
    }
    const asked = ++count
    const answered = new Set<number>()
    const main = readMain()
    await Promise.all(
      now.map(async (worker) => {
        const metrics = await ask(worker, asked)
        if (!metrics || worker.isDead()) return
        answered.add(worker.id)
        members.read(worker.id, metrics)
      }),
    )
    return toText([await main, ...members.all(answered)])
  }
}

function ask(worker: Worker, asked: number): Promise<ReadMetric[] | null> {
  return new Promise((resolve) => {
    const end = (metrics: ReadMetric[] | null) => {
      clearTimeout(timer)
      worker.off('message', onMessage)
      worker.off('exit', end)
      resolve(Array.isArray(metrics) ? metrics : null)
    }
    const onMessage = (message: Partial<Answered>) => {
      if (message.metrics_read === asked) end(message.metrics ?? null)
    }
    const timer = setTimeout(end, ANSWER_MILLISECONDS, null)
    worker.on('message', onMessage)
    worker.once('exit', end)
    if (worker.isConnected()) worker.send({ metrics_wanted: asked } satisfies Asked)
    else end(null)
  })
}
