import type { Machine, ResultRow, Results } from './results.ts'
import { format } from './table.ts'

/** How one row of an earlier run came out now. `change` is the share by which its median rose; null where a share has no meaning. */
export type Change = {
  name: string
  verdict: 'slower' | 'faster' | 'same' | 'not measured'
  change: number | null
  text: string
}

/** Medians closer than this are the same, however close the rounds of each are. */
const SAME_SHARE = 0.05

/**
 * Every row of the earlier run. One is slower when its best round now is worse than its worst round then, so that the spread of neither explains
 * it. A row with a single round has no spread, and one with an exact budget no direction: they are slower when a budget was kept and is missed.
 */
export function compareRows(earlier: readonly ResultRow[], now: readonly ResultRow[]): Change[] {
  return earlier.map((before) =>
    changeOf(
      before,
      now.find(({ name, unit }) => name === before.name && unit === before.unit),
    ),
  )
}

function changeOf(before: ResultRow, after: ResultRow | undefined): Change {
  const { name, unit, better } = before
  if (!before.figure || !after?.figure) {
    const why = before.figure ? (after?.missing ?? 'no such row in this run') : `not measured before: ${before.missing}`
    return { name, verdict: 'not measured', change: null, text: why }
  }
  const { median: then } = before.figure
  const { median: now } = after.figure
  const change = then > 0 ? now / then - 1 : null
  const text = `${format(then)} → ${format(now)} ${unit}${change === null ? '' : `, ${percent(change)}`}${yardstickText(before, after)}`
  const single = Math.min(before.figure.rounds.length, after.figure.rounds.length) === 1
  if (single || better === 'exact')
    return { name, verdict: before.ok && after.ok === false ? 'slower' : 'same', change, text }
  if (change !== null && Math.abs(change) < SAME_SHARE) return { name, verdict: 'same', change, text }
  const [above, below] = [after.figure.min > before.figure.max, after.figure.max < before.figure.min]
  const slower = better === 'lower' ? above : below
  const faster = better === 'lower' ? below : above
  return { name, verdict: slower ? 'slower' : faster ? 'faster' : 'same', change, text }
}

/** What changed for the first yardstick: where it moved as much, the machine did. */
function yardstickText(before: ResultRow, after: ResultRow): string {
  const first = before.yardsticks[0]
  const then = first?.figure?.median
  const now = after.yardsticks.find(({ name }) => name === first?.name)?.figure?.median
  return then && now ? ` (${first!.name} ${percent(now / then - 1)})` : ''
}

/** Why the two runs should not be held against each other; empty when nothing speaks against it. */
export function doubtsOf(earlier: Results, now: Results): string[] {
  const facts = [
    'cpu',
    'cores',
    'memory_gb',
    'os',
    'node',
    'postgres',
    'nginx',
    'pinned',
  ] as const satisfies ReadonlyArray<keyof Machine>
  const text = (results: Results, fact: keyof Machine) => JSON.stringify(results.machine[fact])
  const differing = facts.filter((fact) => text(earlier, fact) !== text(now, fact))
  const yardsticks = compareRows(
    earlier.rows.filter(({ bench }) => bench === 'yardsticks'),
    now.rows,
  )
  const moved = yardsticks.filter(({ verdict }) => verdict === 'slower' || verdict === 'faster')
  const busy = (results: Results) => results.rows.some((row) => row.busy.length > 0)
  return [
    ...differing.map((fact) => `${fact}: ${text(earlier, fact)} then, ${text(now, fact)} now`),
    ...moved.map(({ name, verdict, text }) => `the machine is ${verdict}: ${name}, ${text}`),
    ...(busy(earlier) ? ['the machine was busy then'] : []),
    ...(busy(now) ? ['the machine was busy now'] : []),
    ...(earlier.quick || now.quick ? ['a quick run measures nothing'] : []),
  ]
}

function percent(share: number): string {
  return `${share >= 0 ? '+' : ''}${(share * 100).toFixed(0)} %`
}
