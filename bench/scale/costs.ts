import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Results } from '../support/results.ts'

/** CPU times in microseconds of one core, and bytes. Every one is a figure of `bench/results.json`, none is written by hand. */
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

/** The row that measured each cost. */
const MEASURED: Record<keyof Costs, string> = {
  chat_http: 'Chat, plain answer of 500 bytes, Node',
  chat_postgres: 'Chat, plain answer of 500 bytes, PostgreSQL',
  stream_event_http: 'Chat stream, one event, Node',
  job: 'Video pipeline, instant engine, jobs of one organization submitted and run, Node and PostgreSQL',
  job_postgres: 'Video pipeline, instant engine, jobs of one organization submitted and run, PostgreSQL',
  poll_http: 'GET /v1/videos/{id}, one of two processes, Node',
  content_gb: 'MP4 content, whole',
  chat_kept_bytes: 'Chat answer, kept in PostgreSQL',
  chat_log_bytes: 'Chat answer, written to the log',
  job_kept_bytes: 'Video job, submitted and run, kept in PostgreSQL',
  job_log_bytes: 'Video job, submitted and run, written to the log',
}

/** Of each benchmark the newest run that documents cite. Source: bench/README.md, Results. */
const RUNS = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'results.json'), 'utf8')) as Results[]

/** Throws for a row that is missing or was never measured. */
export function measuredCosts(): Costs {
  const entries = Object.entries(MEASURED).map(([cost, row]) => {
    const { figure } = measured(row)
    // GB per CPU second.
    return [cost, cost === 'content_gb' ? 1_000_000 / figure : figure]
  })
  return Object.fromEntries(entries) as Costs
}

/** Each cost with the run and the row that it comes from, for a table of sources. */
export function sourcesOfCosts(): ReadonlyArray<{ cost: string; row: string } & Measured> {
  return Object.entries(MEASURED).map(([cost, row]) => ({ cost, row, ...measured(row) }))
}

type Measured = { run: string; figure: number; unit: string }

/** The median of the row with this name, and the run that it is from. Throws when no run measured it. */
export function measured(name: string): Measured {
  for (const run of RUNS)
    for (const row of run.rows)
      if (row.name === name && row.figure) return { run: run.name, figure: row.figure.median, unit: row.unit }
  throw new Error(`bench/results.json has no figure for ${name}`)
}
