import { existsSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { printRows, type Row } from './support/row.ts'

/** Every benchmark by the name it is asked for: `npm run bench -- poll start`. All of them without a name. */
const BENCHES: Record<string, string> = {
  chat: 'chat/answer.ts',
  'chat-metering': 'chat/metering.ts',
  'chat-stream': 'chat/stream.ts',
  'chat-streams': 'chat/many-streams.ts',
  responses: 'responses/answer.ts',
  'response-chain': 'responses/chain.ts',
  create: 'videos/create.ts',
  poll: 'videos/poll.ts',
  list: 'videos/list.ts',
  pipeline: 'videos/pipeline.ts',
  content: 'videos/content.ts',
  start: 'start.ts',
  storyboard: 'videos/storyboard.ts',
  recovery: 'videos/recovery.ts',
  console: 'console.ts',
}

process.exitCode = await main(process.argv.slice(2))

/** Runs the benchmarks one after another and prints one table. 1 when a budget was missed, 2 for an unknown name. */
async function main(names: string[]): Promise<number> {
  const known = Object.keys(BENCHES).filter((name) => existsSync(join(import.meta.dirname, BENCHES[name]!)))
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(', ')}. Known: ${known.join(', ')}`)
    return 2
  }
  const rows: Row[] = []
  for (const name of names.length > 0 ? names : known) {
    console.error(`${name} (load average ${loadavg()[0]!.toFixed(1)})`)
    const { run } = (await import(`./${BENCHES[name]}`)) as { run: () => Promise<Row[]> }
    rows.push(...(await run()))
  }
  printRows(rows)
  return rows.every(({ ok }) => ok) ? 0 : 1
}
