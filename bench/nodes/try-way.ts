import { setTimeout as pause } from 'node:timers/promises'
import { runAudit } from '../../server/audit/audit.ts'
import { openDb } from '../../server/platform/db/db.ts'
import { ENDS_SECONDS_MAX, type Fired, findWrong, NOTICED_SECONDS, startPrometheus } from './alerts.ts'
import type { Installation } from './installation.ts'
import { type Journal, openJournal, READY } from './journal.ts'
import { KINDS, type Kind, type Seen, startLoad } from './load.ts'
import { findBroken, untilQuiet } from './verify.ts'
import type { Way } from './ways/way.ts'

/** What became of the installation and its clients while it was broken in one way. */
export type Outcome = {
  way: Way
  /** Promises that were broken, in words; empty when all is well. */
  broken: string[]
  seen: Seen
  journals: { a: Journal; b: Journal }
  /** When it was broken and repaired, by `performance.now()`. */
  broken_at: number
  repaired_at: number
  /** What `kinora admin status --json` printed while it was broken; null where it was not asked. */
  status: string | null
  /** Null when alerts were not tried. */
  fired: Fired[] | null
}

export type Effort = {
  /** Clients of each kind. */
  each: number
  short: boolean
  /** Whether to ask `kinora admin status` too. */
  has_status: boolean
  /** Whether Prometheus runs beside it, and alerts have to fire and to end in time. */
  alerts: boolean
}

/** Longest that is waited for all that has to happen before, while or after it is broken. Usually it takes a second or two. */
const WAIT_SECONDS_MAX = 90
/** For the end of what is in progress: an event that was attempted twice in vain is due again after five minutes. */
const QUIET_SECONDS_MAX = { long: 400, short: WAIT_SECONDS_MAX }
const PATIENCE_MS = { long: 30_000, short: 5000 }
/** Two cores carry two nodes, the database and everybody else: the load is to meet each moment, not to fill the machine. */
const PAUSE_MS = { long: 50, short: 250 }

/**
 * Breaks the installation under load, waits until it shows what is expected, repairs it, waits until it works again, and then counts. Bounds are in
 * order, not in time: what has to happen while it is broken happens before it is repaired.
 */
export async function tryWay(installation: Installation, way: Way, effort: Effort): Promise<Outcome> {
  const { nodes, key, database, receiver } = installation
  const journals = { a: openJournal(nodes.a), b: openJournal(nodes.b) }
  const url = (await way.entry?.(installation)) ?? installation.balancer.url
  const length = effort.short ? 'short' : 'long'
  const client = { url, key, patience_ms: PATIENCE_MS[length], pause_ms: PAUSE_MS[length] }
  const load = startLoad(client, { each: effort.each, name: `${way.name}-${performance.now()}` })
  const { seen } = load
  const broken: string[] = []
  const crashes = crashesOf(installation)
  const doneSince = (kinds: readonly Kind[], since: number, when: string): Expected[] =>
    kinds.map((kind) => [`${kind} ${when}`, () => didOne(seen, kind, since)])
  const alerts = effort.alerts ? await startPrometheus(installation) : null
  await untilAll(broken, doneSince(KINDS, 0, 'before it is broken'))

  const broken_at = performance.now()
  await attempt(broken, 'break', () => way.break(installation))
  const { a, b, goes_on = [], alerts: expected = [], perhaps = [] } = way.expects
  const seconds = Math.max(way.seconds[length]!, alerts && expected.length > 0 ? NOTICED_SECONDS : 0)
  await pause(Math.max(0, seconds * 1000 - (performance.now() - broken_at)))
  const shows = (name: 'a' | 'b', state: RegExp): Expected => [
    `/readyz of ${name} says ${state}`,
    () => journals[name].states.some((each) => each.at >= broken_at && state.test(each.state)),
  ]
  await untilAll(broken, [
    ...(a ? [shows('a', a)] : []),
    ...(b ? [shows('b', b)] : []),
    ...doneSince(goes_on, broken_at, 'while it is broken'),
  ])
  const status = effort.has_status ? await statusOf(installation) : null

  const repaired_at = performance.now()
  await attempt(broken, 'repair', () => way.repair?.(installation))
  const readyAgain = Object.entries(journals).map(
    ([name, { states }]): Expected => [`/readyz of ${name} says ${READY} again`, () => states.at(-1)?.state === READY],
  )
  await untilAll(broken, readyAgain)
  await untilAll(broken, doneSince(KINDS, repaired_at, 'after it is repaired'))
  await alerts?.untilNone(ENDS_SECONDS_MAX)
  const fired = (await alerts?.fired()) ?? null
  await alerts?.stop()
  if (fired) broken.push(...findWrong(fired, { expected, perhaps, broken_at, repaired_at }))
  await load.stop(WAIT_SECONDS_MAX)
  await attempt(broken, 'end of what was in progress', () => untilQuiet(database.pool, QUIET_SECONDS_MAX[length]))
  for (const journal of Object.values(journals)) await journal.close()

  await attempt(broken, 'reconciliation', async () => {
    broken.push(...(await findBroken(database.pool, seen, receiver.received)), ...(await audited(database.url)))
  })
  if (crashesOf(installation) > crashes) broken.push(`nodes ended by themselves: ${crashesOf(installation) - crashes}`)
  const errors = [...seen.answers].filter(([what]) => what !== '200')
  if (way.expects.unnoticed && errors.length > 0) broken.push(`clients noticed: ${JSON.stringify(errors)}`)
  return { way, broken, seen, journals, broken_at, repaired_at, status, fired }
}

type Expected = [what: string, isSo: () => boolean]

/** Waits until all of it is so; what is not in time is broken. */
async function untilAll(broken: string[], expected: readonly Expected[]): Promise<void> {
  for (const late = performance.now() + WAIT_SECONDS_MAX * 1000; ; await pause(100)) {
    const missing = expected.filter(([, isSo]) => !isSo())
    if (missing.length > 0 && performance.now() < late) continue
    return void broken.push(...missing.map(([what]) => `not within ${WAIT_SECONDS_MAX} s: ${what}`))
  }
}

/** Whether a client began and ended work of this kind after a time. */
function didOne({ done }: Seen, kind: Kind, after: number): boolean {
  return done.some((each) => each.kind === kind && each.began >= after)
}

/** What an operator reads, or why there is nothing to read. */
async function statusOf({ admin }: Installation): Promise<string> {
  const { stdout, stderr } = await admin('status', '--json')
  return stdout || stderr
}

async function attempt(broken: string[], what: string, work: () => unknown): Promise<void> {
  try {
    await work()
  } catch (error) {
    broken.push(`${what}: ${error}`)
  }
}

async function audited(url: string): Promise<string[]> {
  const { db, close } = openDb(url, { pool_max: 1 })
  try {
    const rows = await runAudit(db)
    return rows.flatMap(({ invariant, violations }) =>
      violations > 0 ? [`${invariant}: ${violations} violations`] : [],
    )
  } finally {
    await close()
  }
}

function crashesOf({ nodes }: Installation): number {
  return nodes.a.crashes() + nodes.b.crashes()
}
