import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuOf, memoryOf } from './support/cpu.ts'
import { QUICK } from './support/rounds.ts'
import { type Row, rowOf } from './support/row.ts'
import { BENCH_CONFIG, end, launch, newDir } from './support/service.ts'

const ROUNDS = QUICK ? 1 : 7
const IDLE_SECONDS = 5

/** From the command to `kinora ready`, on a new directory, after a clean stop and after `kill -9`, and what the process holds when nothing happens. */
export async function run(): Promise<Row[]> {
  const starts: Record<Kind, Start[]> = { 'first ever': [], warm: [], 'after kill -9': [] }
  const idle: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const dir = newDir()
    writeFileSync(join(dir, 'kinora.yaml'), BENCH_CONFIG)
    try {
      starts['first ever'].push(await start(dir, 'SIGTERM'))
      starts.warm.push(await start(dir, 'SIGKILL'))
      const idling = async (pid: number) => {
        await sleep(IDLE_SECONDS * 1000)
        idle.push(memoryOf(pid).now)
      }
      starts['after kill -9'].push(await start(dir, 'SIGTERM', idling))
    } finally {
      rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    }
  }
  return [
    ...rowsOf('warm', starts.warm, 0.5),
    ...rowsOf('first ever', starts['first ever'], 1.2),
    ...rowsOf('after kill -9', starts['after kill -9'], 1),
    rowOf({ name: 'Idle, resident memory of Node', unit: 'MB', rounds: idle, limit: 140 }),
  ]
}

type Kind = 'first ever' | 'warm' | 'after kill -9'
/** Seconds. */
type Start = { wall: number; cpu: number }

/** Starts it, lets `use` have it, and ends it by `signal`. */
async function start(
  dir: string,
  signal: 'SIGTERM' | 'SIGKILL',
  use: (pid: number) => Promise<void> = async () => {},
): Promise<Start> {
  const started = performance.now()
  const { child } = await launch(dir)
  const wall = (performance.now() - started) / 1000
  const cpu = cpuOf(child.pid!) / 1e6
  await use(child.pid!)
  if (signal === 'SIGTERM') await end(child)
  else {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  return { wall, cpu }
}

function rowsOf(kind: Kind, starts: readonly Start[], limit: number): Row[] {
  const name = `Start, ${kind}, to ready`
  return [
    rowOf({ name, unit: 's', rounds: starts.map(({ wall }) => wall), limit }),
    rowOf({ name: `${name}, Node`, unit: 's CPU', rounds: starts.map(({ cpu }) => cpu) }),
  ]
}
