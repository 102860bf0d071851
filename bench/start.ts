import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuOf, memoryOf } from './support/cpu.ts'
import type { Row } from './support/row.ts'
import { BENCH_CONFIG, end, launch, newDir } from './support/service.ts'

const ROUNDS = 5
const IDLE_SECONDS = 5

/** From the command to `kinora ready`. The best of several rounds: a busy machine only ever adds. */
export async function run(): Promise<Row[]> {
  const first: Start[] = []
  const warm: Start[] = []
  let idle = 0
  for (let round = 0; round < ROUNDS; round++) {
    const dir = newDir()
    writeFileSync(join(dir, 'kinora.yaml'), BENCH_CONFIG)
    try {
      first.push(await start(dir))
      warm.push(await start(dir))
      warm.push(
        await start(dir, async (pid) => {
          if (round > 0) return
          await sleep(IDLE_SECONDS * 1000)
          idle = memoryOf(pid).now
        }),
      )
    } finally {
      rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    }
  }
  return [
    row('Start, warm, to ready', best(warm), 1),
    row('Start, first ever, to ready', best(first), 3),
    {
      name: 'Idle, resident memory of Node',
      figure: `${idle.toFixed(0)} MB`,
      yardstick: '—',
      ratio: '—',
      budget: '≤ 200 MB',
      ok: idle <= 200,
    },
  ]
}

type Start = { wall: number; cpu: number }

async function start(dir: string, use: (pid: number) => Promise<void> = async () => {}): Promise<Start> {
  const started = performance.now()
  const { child } = await launch(dir)
  const wall = (performance.now() - started) / 1000
  const cpu = cpuOf(child.pid!) / 1e6
  await use(child.pid!)
  await end(child)
  return { wall, cpu }
}

function best(starts: readonly Start[]): Start {
  return starts.reduce((least, each) => (each.wall < least.wall ? each : least))
}

function row(name: string, { wall, cpu }: Start, budget: number): Row {
  return {
    name,
    figure: `${wall.toFixed(2)} s (${cpu.toFixed(2)} s CPU in Node)`,
    yardstick: '—',
    ratio: '—',
    budget: `≤ ${budget.toFixed(1)} s`,
    ok: wall <= budget,
  }
}
