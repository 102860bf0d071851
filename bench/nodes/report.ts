import type { Journal } from './journal.ts'
import type { Kind, Seen } from './load.ts'
import type { Outcome } from './try-way.ts'

/** What happened in one way, in lines. */
export function describeOutcome(outcome: Outcome): string {
  const { way, broken, seen, journals, broken_at, repaired_at, status } = outcome
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
    ...(outcome.fired === null ? [] : [`alerts       ${alertsOf(outcome)}`]),
    `broken       ${broken.length === 0 ? 'nothing' : broken.length}`,
    ...broken.slice(0, 50).map((each) => `  ${each}`),
    '',
  ].join('\n')
}

/** The head of the table of all outcomes, with or without alerts. */
export function headOf({ alerts }: { alerts: boolean }): string {
  const columns = ['Way', 'Seconds', 'Clients saw', 'Longest wait', 'Chat p50, p99', 'Job p50, p99', 'Node a, node b']
  if (alerts) columns.push('Alerts: fired after, ended after repair', '`kinora admin status` said')
  columns.push('Lost or wrong')
  return `| ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length)}`
}

/** One row of the table. */
export function rowOf(outcome: Outcome): string {
  const { way, broken, seen, journals, broken_at, repaired_at, fired } = outcome
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
    ...(fired === null ? [] : [alertsOf(outcome), statusOf(outcome)]),
    broken.length === 0 ? 'nothing' : String(broken.length),
  ].join(' | ')} |`
}

function alertsOf({ fired, broken_at, repaired_at }: Outcome): string {
  const texts = fired!.map(({ alert, fired_at, ended_at }) => {
    const end = ended_at === null ? 'fires still' : seconds(ended_at - repaired_at)
    return `${alert} ${seconds(fired_at - broken_at)}, ${end}`
  })
  return texts.join('; ') || 'none'
}

/** What is lost and which nodes are not ready, as the status says; or why there is none. */
function statusOf({ status }: Outcome): string {
  if (!status?.startsWith('{')) return status?.trim() ?? '-'
  const { incidents, nodes, storage } = JSON.parse(status) as {
    incidents: Array<{ subject: string }>
    nodes: Array<{ state: string; reason: string | null }>
    storage: { state: string | null }
  }
  const states = nodes.map(({ state, reason }) => (reason === null ? state : `${state}: ${reason}`))
  const lost = incidents.map(({ subject }) => subject.replace(/^node .*/, 'node')).join(', ')
  return `lost: ${lost || 'nothing'}; nodes ${states.join(', ')}; storage ${storage.state}`
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
