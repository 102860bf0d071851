import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { openShares } from '../../platform/fair-queue.ts'
import { withTimeout } from '../../platform/timeout.ts'
import { turnOwner } from '../../platform/turns.ts'
import { EngineError } from '../engine-error.ts'

/** A pattern may backtrack without end on a hostile prompt. Past this the text counts as unjudged, which fails the job closed. */
const SEARCH_MS = 250

export type PatternThread = {
  /**
   * Which patterns match one of the texts, by their places. One search at a time; owners take turns. Throws EngineError `transient` for one
   * that takes longer than 250 ms, or with the reason of `signal` before it begins.
   */
  search(texts: readonly string[], signal: AbortSignal): Promise<number[]>
  close(): Promise<void>
}

/** Regular expressions in a thread of their own, where one that runs away holds up nobody else's requests. The thread starts with the first search. */
export function openPatternThread(patterns: readonly RegExp[]): PatternThread {
  const inTurn = openShares({ each: 1, all: 1 })
  let worker: Worker | null = null

  async function searchNow(texts: readonly string[]): Promise<number[]> {
    const thread = worker ?? (await startWorker(patterns))
    worker = thread
    const reply = once(thread, 'message')
    thread.ref()
    thread.postMessage(texts)
    try {
      const [places] = await withTimeout(SEARCH_MS, reply, () => {
        throw new Error('late')
      })
      return places
    } catch {
      worker = null
      void thread.terminate()
      throw new EngineError('transient', 'A pattern of the deny list did not finish in time.', {
        engine_code: 'pattern_timeout',
      })
    } finally {
      thread.unref()
    }
  }

  return {
    search: (texts, signal) => inTurn(turnOwner(), () => searchNow(texts), signal),
    async close() {
      await worker?.terminate()
      worker = null
    },
  }
}

async function startWorker(patterns: readonly RegExp[]): Promise<Worker> {
  const workerData = patterns.map(({ source, flags }) => ({ source, flags }))
  const worker = new Worker(THREAD, { eval: true, execArgv: [], env: {}, workerData })
  worker.on('error', () => {})
  await once(worker, 'online')
  return worker
}

const THREAD = `
const { parentPort, workerData } = require('node:worker_threads')
const patterns = workerData.map(({ source, flags }) => new RegExp(source, flags))
parentPort.on('message', (texts) => {
  const places = [...patterns.keys()]
  parentPort.postMessage(places.filter((place) => texts.some((text) => patterns[place].test(text))))
})
`
