import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { howBusy, reasonsOf, watchDuring } from './support/quiet.ts'
import { exitCodeOf, printResults } from './support/report.ts'
import {
  commitFacts,
  machineFacts,
  newBase,
  RESULTS,
  type Results,
  readResults,
  writeResults,
} from './support/results.ts'
import type { Row } from './support/row.ts'

/** Every benchmark by its name on the command line: `npm run bench -- poll start`. Without a name, all of them run. */
const BENCHES: Readonly<Record<string, string>> = {
  chat: 'chat/answer.ts',
  'chat-metering': 'chat/metering.ts',
  'chat-stream': 'chat/stream.ts',
  'chat-streams': 'chat/many-streams.ts',
  'chat-workers': 'chat/workers.ts',
  responses: 'responses/answer.ts',
  'response-chain': 'responses/chain.ts',
  'response-socket': 'responses/socket.ts',
  create: 'videos/create.ts',
  poll: 'videos/poll.ts',
  list: 'videos/list.ts',
  pipeline: 'videos/pipeline.ts',
  content: 'videos/content.ts',
  start: 'start.ts',
  storyboard: 'videos/storyboard.ts',
  recovery: 'videos/recovery.ts',
  takeover: 'videos/takeover.ts',
  misbehaving: 'videos/misbehaving.ts',
  console: 'console/run.ts',
  'scale-sizes': 'scale/sizes.ts',
}
/** Takes an hour, so it runs only when asked for by name. */
const SOAK = { soak: 'chat/soak/run.ts' }
/** Comes first in every run. */
const YARDSTICKS = { yardsticks: 'yardsticks/run.ts' }
const FILES: Readonly<Record<string, string>> = { ...YARDSTICKS, ...BENCHES, ...SOAK }

const OPTIONS = {
  strict: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  compare: { type: 'string' },
  name: { type: 'string' },
} as const

process.exitCode = await main(process.argv.slice(2))

/** Runs the benchmarks one after another, writes what is measured so far after each, and prints one table. Returns the exit code, 2 for an unknown name. */
async function main(args: string[]): Promise<number> {
  const { values, positionals: names } = parseArgs({ args, options: OPTIONS, allowPositionals: true })
  const unknown = names.filter((name) => !(name in FILES))
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(', ')}. Known: ${Object.keys(FILES).join(', ')}`)
    return 2
  }
  if (values.quick) process.env.BENCH_QUICK = '1'
  const earlier = values.compare === undefined ? null : readResults(values.compare)
  const asked = names.length > 0 ? names : earlier ? earlier.rows.map(({ bench }) => bench) : Object.keys(BENCHES)
  const chosen = [...new Set([...Object.keys(YARDSTICKS), ...asked])]
  const now = new Date()
  const { quick, strict } = values
  const base = newBase(quick ? tmpdir() : RESULTS, values.name ?? (names.length > 0 ? names.join('-') : 'all'), now)
  const results: Results = {
    schema: 1,
    name: base.slice(base.lastIndexOf('/') + 1),
    started_at: now.toISOString(),
    seconds: 0,
    quick,
    commit: commitFacts(),
    machine: machineFacts(),
    refused: null,
    rows: [],
  }
  for (const bench of chosen) {
    await measure(bench, { results, base, strict })
    results.seconds = Math.round((Date.now() - now.getTime()) / 1000)
    writeResults(`${base}.json`, results)
    if (results.refused) break
  }
  printResults(results, earlier)
  console.log(`\n${base}.json`)
  return exitCodeOf(results, { earlier, strict })
}

/** Adds the rows of one benchmark, or the refusal to run it on a busy machine. */
async function measure(
  bench: string,
  { results, base, strict }: { results: Results; base: string; strict: boolean },
): Promise<void> {
  const before = await howBusy()
  const reasons = reasonsOf(before)
  console.error(`${bench}${reasons.length > 0 ? `, on a busy machine: ${reasons.join('; ')}` : ''}`)
  if (strict && reasons.length > 0) {
    results.refused = { bench, busy: reasons }
    return
  }
  const { run } = (await import(`./${FILES[bench]}`)) as { run: (output: { base: string }) => Promise<Row[]> }
  const { result: rows, during } = await watchDuring(() => run({ base }))
  const busy = [...reasons, ...reasonsOf(during).map((reason) => `meanwhile ${reason}`)]
  results.rows.push(...rows.map((row) => ({ bench, ...row, before, during, busy })))
}
