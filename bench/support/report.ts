import { type Change, compareRows, doubtsOf } from './compare.ts'
import type { Results } from './results.ts'
import { tableOf } from './table.ts'

/** Prints the table of a run, what speaks against believing it, and how it compares with an earlier one. */
export function printResults(results: Results, earlier: Results | null): void {
  if (results.rows.length > 0) console.log(tableOf(results.rows))
  if (results.quick) console.log('\nA quick run: no figure counts.')
  const busy = Map.groupBy(
    results.rows.filter((row) => row.busy.length > 0),
    ({ bench }) => bench,
  )
  if (busy.size > 0) console.log('\nOn a busy machine, not to be believed:')
  for (const [bench, [row]] of busy) console.log(`  ${bench}: ${row!.busy.join('; ')}`)
  if (results.refused)
    console.log(`\nRefused on a busy machine: ${results.refused.bench}: ${results.refused.busy.join('; ')}`)
  if (earlier) printChanges(earlier, results)
}

/** 3 when `--strict` met a busy machine; else 1 when a budget was missed, or, compared with an earlier run, when something became slower. A quick run proves neither. */
export function exitCodeOf(
  results: Results,
  { earlier, strict }: { earlier: Results | null; strict: boolean },
): number {
  if (results.refused || (strict && results.rows.some(({ busy }) => busy.length > 0))) return 3
  if (results.quick) return 0
  if (earlier) return changesOf(earlier, results).some(({ verdict }) => verdict === 'slower') ? 1 : 0
  return results.rows.some(({ ok }) => ok === false) ? 1 : 0
}

function printChanges(earlier: Results, results: Results): void {
  console.log(`\nCompared with ${earlier.name} (${earlier.commit?.sha.slice(0, 9) ?? 'no commit'}):`)
  for (const doubt of doubtsOf(earlier, results)) console.log(`  doubtful, ${doubt}`)
  const changes = changesOf(earlier, results)
  for (const verdict of ['slower', 'faster', 'same', 'not measured'] satisfies Array<Change['verdict']>)
    for (const { name, text } of changes.filter((change) => change.verdict === verdict))
      console.log(`  ${verdict}: ${name}, ${text}`)
}

/** Of the benchmarks that ran this time. The yardsticks are the machine's and stand among the doubts. */
function changesOf(earlier: Results, results: Results): Change[] {
  const ran = new Set(results.rows.map(({ bench }) => bench))
  return compareRows(
    earlier.rows.filter(({ bench }) => ran.has(bench) && bench !== 'yardsticks'),
    results.rows,
  )
}
