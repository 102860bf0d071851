import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { memoryOf } from '../../support/cpu.ts'
import { amountOf } from '../../support/rounds.ts'
import { type Row, rowOf } from '../../support/row.ts'
import type { BenchService } from '../../support/service.ts'
import { neverRead } from '../deaf.ts'
import { chat, chatLoad, startChatService, startStampedUpstream } from '../setup.ts'
import { chartOf } from './chart.ts'
import { growthOf } from './growth.ts'

const STREAMS = amountOf(1000)
const EVENTS = 40
const GAP_MS = 250
const SECONDS = Number(process.env.BENCH_SOAK_SECONDS ?? 3600)
const SAMPLE_SECONDS = 5
const GROWTH_MB = 32
/** Streams end and begin all the time, so that a few sockets more or fewer are open at any moment. */
const GROWTH_DESCRIPTORS = 32

type Sample = { seconds: number; resident_mb: number; heap_mb: number; file_descriptors: number }

/**
 * A thousand streams at once for an hour, one never read, each begun again when it ends: memory and file descriptors of the service must stay flat.
 * Writes the samples to `<base>.samples.json` and draws them in `<base>.svg`, also when an answer fails on the way.
 */
export async function run({ base }: { base: string }): Promise<Row[]> {
  const upstream = await startStampedUpstream({ events: EVENTS, gap_ms: GAP_MS })
  const dir = mkdtempSync(join(tmpdir(), 'kinora-bench-soak-'))
  const probe = `${pathToFileURL(join(import.meta.dirname, 'heap-probe.ts'))}?file=${join(dir, 'heap')}`
  const service = await startChatService(upstream, { node: ['--import', probe] })
  try {
    const load = { ...chatLoad(`${service.url}/v1`, service, true), callers: STREAMS - 1 }
    const streams = chat({ ...load, amount: { seconds: SECONDS } })
    const samples = await sampleDuring(streams, service, join(dir, `heap.${service.pid}`))
    writeFileSync(`${base}.samples.json`, `${JSON.stringify(samples)}\n`)
    writeFileSync(`${base}.svg`, drawingOf(samples))
    await streams
    return rowsOf(samples)
  } finally {
    await service.stop()
    await upstream.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Samples of the service for as long as every stream that ends begins again, with one client that never reads beside them. */
async function sampleDuring(streams: Promise<unknown>, service: BenchService, heapFile: string): Promise<Sample[]> {
  const samples: Sample[] = []
  const started = performance.now()
  let failed = false
  streams.catch(() => {
    failed = true
  })
  let deaf: Socket | null = null
  for (let next = SAMPLE_SECONDS; next <= SECONDS && !failed; next += SAMPLE_SECONDS) {
    // The service may end a connection that reads nothing; then another one takes its place.
    if (!deaf || deaf.destroyed) deaf = await neverRead(service)
    await Promise.race([sleep(started + next * 1000 - performance.now()), streams.catch(() => {})])
    if (!failed) samples.push(sampleOf(service, (performance.now() - started) / 1000, heapFile))
  }
  deaf?.destroy()
  return samples
}

function sampleOf({ pid }: BenchService, seconds: number, heapFile: string): Sample {
  return {
    seconds: Math.round(seconds),
    resident_mb: toTenth(memoryOf(pid).now),
    heap_mb: toTenth(Number(readFileSync(heapFile, 'utf8')) / 1024 ** 2),
    file_descriptors: readdirSync(`/proc/${pid}/fd`).length,
  }
}

function toTenth(value: number): number {
  return Math.round(value * 10) / 10
}

function drawingOf(samples: readonly Sample[]): string {
  const panel = (title: string, unit: string, field: keyof Sample) => {
    return { title, unit, points: samples.map((sample) => [sample.seconds, sample[field]] as const) }
  }
  return chartOf(`${STREAMS} streams, one never read, for ${SECONDS} s`, [
    panel('Resident memory of Node', 'MB', 'resident_mb'),
    panel('JavaScript heap in use', 'MB', 'heap_mb'),
    panel('File descriptors', 'open', 'file_descriptors'),
  ])
}

function rowsOf(samples: readonly Sample[]): Row[] {
  const growthRow = (title: string, unit: string, field: keyof Sample, limit?: number) => {
    const values = samples.map((sample) => sample[field])
    const name = `${STREAMS} streams for ${SECONDS} s, one never read: ${title}`
    return [
      rowOf({ name: `${name}, growth`, unit, rounds: [growthOf(values)], ...(limit !== undefined && { limit }) }),
      rowOf({ name: `${name}, peak`, unit, rounds: [Math.max(...values)] }),
    ]
  }
  return [
    ...growthRow('resident memory of Node', 'MB', 'resident_mb', GROWTH_MB),
    ...growthRow('JavaScript heap in use', 'MB', 'heap_mb'),
    ...growthRow('file descriptors', 'open', 'file_descriptors', GROWTH_DESCRIPTORS),
  ]
}
