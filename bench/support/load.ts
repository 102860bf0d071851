import { createRequire } from 'node:module'
import { outputOf, spawnNode } from './child.ts'
import type { Side } from './cores.ts'

export type Load = {
  url: string
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string
  /** Callers that each send the next request after the previous answer. */
  callers: number
  /** How long, or how many requests. */
  amount: { seconds: number } | { requests: number }
  /** `generator` when not given; null for all cores. */
  side?: Side | null
}

export type Loaded = { answers: number; ok: number; seconds: number; p50_ms: number; p99_ms: number }

const AUTOCANNON = createRequire(import.meta.url).resolve('autocannon/autocannon.js')

/** Sends requests from another process, so that its work does not count as the service's. 304 is not `ok` but an answer. */
export async function fire(load: Load): Promise<Loaded> {
  const { url, method = 'GET', headers = {}, body, callers, amount, side = 'generator' } = load
  const length = 'seconds' in amount ? ['-d', String(amount.seconds)] : ['-a', String(amount.requests)]
  const named = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const args = [
    AUTOCANNON,
    '-j',
    '-n',
    '-m',
    method,
    '-c',
    String(callers),
    ...length,
    ...named,
    ...(body ? ['-b', body] : []),
    url,
  ]
  const started = performance.now()
  const output = await outputOf(spawnNode(args, side))
  const wall = (performance.now() - started) / 1000
  const result = JSON.parse(output) as AutocannonResult
  const seconds = 'seconds' in amount ? result.duration : Math.min(wall, result.duration || wall)
  const answers = result['1xx'] + result['2xx'] + result['3xx'] + result['4xx'] + result['5xx']
  return { answers, ok: result['2xx'], seconds, p50_ms: result.latency.p50, p99_ms: result.latency.p99 }
}

type AutocannonResult = Record<'1xx' | '2xx' | '3xx' | '4xx' | '5xx', number> & {
  duration: number
  latency: { p50: number; p99: number }
}
