import type { Journal } from './journal.ts'
import type { Kind, Seen } from './load.ts'
import type { Outcome } from './try-way.ts'

/** What happened in one way, in lines. */
export function describeOutcome({ way, broken, seen, journals, broken_at, repaired_at, status }: Outcome): string {
  const began = (at: number) => ((at - broken_at) / 1000).toFixed(1)
  const statesOf = ({ states }: Journal) => states.map(({ at, state }) => `${began(at)} ${state}`).join(' · ')
  return [
    `## ${way.name}: ${way.what}, for ${began(repaired_at)} s`,
    `clients      ${answersOf(seen)} · longest wait ${seconds(seen.longest_ms)} · chat ${timesOf(seen, 'chat')} · job ${timesOf(seen, 'job')}`,
    ...Object.entries(journals).flatMap(([name, journal]) => [
      `/readyz ${name}    ${statesOf(journal)}`,
      `metrics ${name}    ${metricsOf(journal)}`,
      `journal ${name}    ${eventsOf(journal)}`,
    ]),
    ...(status === null ? [] : [`status       ${status.trim()}`]),
    `broken       ${broken.length === 0 ? 'nothing' : broken.length}`,
    ...broken.slice(0, 50).map((each) => `  ${each}`),
    '',
  ].join('\n')
}

/** The head of the table of all outcomes. */
export const HEAD = `| Way | Seconds | Clients saw | Longest wait | Chat p50, p99 | Job p50, p99 | Node a, node b | Lost or wrong |
|---|---|---|---|---|---|---|---|`

/** One row of the table. */
export function rowOf({ way, broken, seen, journals, broken_at, repaired_at }: Outcome): string {
  const worst = ({ states }: Journal) =>
    [...new Set(states.filter(({ at }) => at >= broken_at).map(({ state }) => state))]
      .filter((state) => state !== 'ready')
      .join(', ') || 'ready'
  return `| ${[
    `${way.what} (\`${way.name}\`)`,
    ((repaired_at - broken_at) / 1000).toFixed(0),
    answersOf(seen),
    seconds(seen.longest_ms),
    timesOf(seen, 'chat'),
    timesOf(seen, 'job'),
    `${worst(journals.a)}; ${worst(journals.b)}`,
    broken.length === 0 ? 'nothing' : String(broken.length),
  ].join(' | ')} |`
}

function answersOf({ answers }: Seen): string {
  return [...answers]
    .sort()
    .map(([what, count]) => `${what} × ${count}`)
    .join(', ')
}

function timesOf({ done }: Seen, kind: Kind): string {
  const times = done
    .filter((each) => each.kind === kind)
    .map(({ began, ended }) => ended - began)
    .sort((a, b) => a - b)
  const at = (share: number) =>
    seconds(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN)
  return `${at(0.5)}, ${at(0.99)}`
}

/** Those that changed, and those that say that something is away. */
function metricsOf({ metrics }: Journal): string {
  const shown = [...metrics].filter(([name, { min, max }]) => min !== max || (name.endsWith('_reachable') && min === 0))
  return shown.map(([name, { min, max }]) => `${name} ${round(min)}…${round(max)}`).join(' · ') || 'unchanged'
}

function eventsOf(journal: Journal): string {
  return [...journal.logged()].map(([event, count]) => `${event} × ${count}`).join(', ') || 'nothing'
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 2 : 0)} s`
}

function round(value: number): string {
  return String(Number(value.toPrecision(3)))
}
