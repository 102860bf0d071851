import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** CPU times in microseconds of one core, and bytes. Every one is a figure of `bench/results/`, none is written by hand. */
export type Costs = {
  chat_http: number
  chat_postgres: number
  stream_event_http: number
  job: number
  job_postgres: number
  poll_http: number
  /** Of the service, to send a GB of a clip itself. */
  content_gb: number
  chat_kept_bytes: number
  chat_log_bytes: number
  job_kept_bytes: number
  job_log_bytes: number
}

/** Where each cost was measured: a run, and the row of its results. */
const MEASURED: Record<keyof Costs, [run: string, row: string]> = {
  chat_http: ['2026-11-24-nodes', 'Chat, plain answer of 500 bytes, Node'],
  chat_postgres: ['2026-11-24-nodes', 'Chat, plain answer of 500 bytes, PostgreSQL'],
  stream_event_http: ['2026-11-23-quiet', 'Chat stream, one event, Node'],
  job: [
    '2026-11-24-nodes-second',
    'Video pipeline, instant engine, jobs of one organization submitted and run, Node and PostgreSQL',
  ],
  job_postgres: [
    '2026-11-24-nodes-second',
    'Video pipeline, instant engine, jobs of one organization submitted and run, PostgreSQL',
  ],
  poll_http: ['2026-11-24-nodes-third', 'GET /v1/videos/{id}, one of two processes, Node'],
  content_gb: ['2026-11-23-second', 'MP4 content, whole'],
  chat_kept_bytes: ['2026-11-24-nodes-second', 'Chat answer, kept in PostgreSQL'],
  chat_log_bytes: ['2026-11-24-nodes-second', 'Chat answer, written to the log'],
  job_kept_bytes: ['2026-11-24-nodes-second', 'Video job, submitted and run, kept in PostgreSQL'],
  job_log_bytes: ['2026-11-24-nodes-second', 'Video job, submitted and run, written to the log'],
}

const RESULTS = join(import.meta.dirname, '..', 'results')

/** Reads every cost from its run. Throws for a row that is missing or was never measured. */
export function measuredCosts(): Costs {
  const entries = Object.entries(MEASURED).map(([cost, [run, row]]) => {
    const figure = figureOf(run, row)
    // GB per CPU second.
    return [cost, cost === 'content_gb' ? 1_000_000 / figure : figure]
  })
  return Object.fromEntries(entries) as Costs
}

/** Each cost with the run and the row that it comes from, for a table of sources. */
export function sourcesOfCosts(): ReadonlyArray<{
  cost: string
  run: string
  row: string
  figure: number
  unit: string
}> {
  return Object.entries(MEASURED).map(([cost, [run, row]]) => ({
    cost,
    run,
    row,
    figure: figureOf(run, row),
    unit: rowIn(run, row).unit,
  }))
}

type ResultRow = { name: string; unit: string; figure: { median: number } | null }

export function figureOf(run: string, name: string): number {
  const { figure } = rowIn(run, name)
  if (!figure) throw new Error(`${run}: ${name} was not measured`)
  return figure.median
}

function rowIn(run: string, name: string): ResultRow {
  const { rows } = JSON.parse(readFileSync(join(RESULTS, `${run}.json`), 'utf8')) as { rows: ResultRow[] }
  const row = rows.find((each) => each.name === name)
  if (!row) throw new Error(`${run}.json has no row named ${name}`)
  return row
}
