import { cpuOf, cpuOfTree } from '../support/cpu.ts'
import { watchIdle } from '../support/quiet.ts'
import { alternate, amountOf, WARM } from '../support/rounds.ts'
import { type Rounds, type Row, rowOf } from '../support/row.ts'
import { type BenchService, httpProcesses } from '../support/service.ts'
import { limitToSlice, withoutSlices } from '../support/slices.ts'
import { chat, chatLoad, startChatService, startUpstream } from './setup.ts'

const CALLERS = 128
/** Of one round. */
const ANSWERS = amountOf(10_000)
const COUNTS = [1, 2, 4] as const
/** Of a core, for each HTTP process of the limited rounds: four of them, PostgreSQL, model server and client fit on two cores. */
const SLICE = 0.2

type Served = { answers_per_second: number; http: number; postgres: number; idle: number }

/**
 * Plain answers through 1, 2 and 4 HTTP processes (`--workers`), each with a slice of a core, so that they are what is scarce: how the
 * rate grows with their number. Then without a limit on all cores, which everything else has to share.
 */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: 1, gap_ms: 0 })
  const services: BenchService[] = []
  try {
    for (const workers of COUNTS) {
      const service = await startChatService(upstream, { config: `workers: ${workers}\n`, pinned: false })
      services.push(service)
      // Each process compiles for itself.
      await serve(service, WARM * workers)
    }
    const limited = withoutSlices === null ? await limitedTo(SLICE, services) : null
    const free = await measure(services)
    return [...(limited ? rowsOf(limited, `each with ${SLICE} of a core`, 1.7) : []), ...rowsOf(free, 'on all cores')]
  } finally {
    for (const service of services) await service.stop()
    await upstream.stop()
  }
}

type Measured = Record<'one' | 'two' | 'four', Served[]>

async function limitedTo(slice: number, services: readonly BenchService[]): Promise<Measured> {
  const unlimit = services.flatMap(httpProcesses).map((pid) => limitToSlice(pid, slice))
  try {
    return await measure(services)
  } finally {
    for (const undo of unlimit) undo()
  }
}

async function measure(services: readonly BenchService[]): Promise<Measured> {
  const [one, two, four] = services.map((service) => (answers: number) => serve(service, answers))
  return (await alternate({ one: one!, two: two!, four: four! }, { count: ANSWERS, warm: 0 })) as Measured
}

async function serve(service: BenchService, answers: number): Promise<Served> {
  const http = httpProcesses(service)
  const spent = () => http.reduce((sum, pid) => sum + cpuOf(pid), 0)
  const before = { http: spent(), postgres: cpuOfTree(service.postgres_pid), idle: watchIdle() }
  const load = { ...chatLoad(`${service.url}/v1`, service, false), callers: CALLERS, amount: { answers }, side: null }
  const loaded = await chat(load)
  return {
    answers_per_second: loaded.answers / loaded.seconds,
    http: (spent() - before.http) / answers,
    postgres: (cpuOfTree(service.postgres_pid) - before.postgres) / answers,
    idle: before.idle(),
  }
}

function rowsOf({ one, two, four }: Measured, how: string, ratio_limit?: number): Row[] {
  const rates = (rounds: Served[]): Rounds => rounds.map(({ answers_per_second }) => answers_per_second)
  const yardstick = { name: '1 process', rounds: rates(one) }
  const limit = ratio_limit === undefined ? {} : { ratio_limit }
  const name = (count: string) => `Chat, plain answer, ${count}, ${how}`
  const rate = { unit: 'answers/s', better: 'higher' } as const
  const facts = [
    { count: '1 process', rounds: one, yardsticks: [] },
    { count: '2 processes', rounds: two, yardsticks: [{ ...yardstick, ...limit }] },
    { count: '4 processes', rounds: four, yardsticks: [yardstick] },
  ]
  return facts.flatMap(({ count, rounds, yardsticks }) => [
    rowOf({ name: name(count), ...rate, rounds: rates(rounds), yardsticks }),
    rowOf({ name: `${name(count)}, HTTP processes`, unit: 'µs CPU', rounds: rounds.map(({ http }) => http) }),
    rowOf({ name: `${name(count)}, PostgreSQL`, unit: 'µs CPU', rounds: rounds.map(({ postgres }) => postgres) }),
    rowOf({
      name: `${name(count)}, cores idle`,
      unit: '%',
      better: 'higher',
      rounds: rounds.map(({ idle }) => idle * 100),
    }),
  ])
}
