import { formatSeconds } from '../units.ts'
import type { StepResult } from './steps.ts'

/** What others have sent may hold what a terminal would obey. */
const CONTROLS = /\p{Cc}/gu

export function headOf(url: string): string {
  return `kinora check ${url}\n\n`
}

/** One line of a step; three more of a failed one. */
export function linesOf({ step, outcome, seconds, detail, failure }: StepResult): string {
  const time = outcome === 'skipped' ? '' : formatSeconds(seconds)
  const line = `  ${outcome.padEnd(7)}  ${step.padEnd(9)}  ${time.padStart(8)}  ${detail}`
  const more = failure
    ? [`sent:     ${failure.sent}`, `received: ${failure.received}`, `probably: ${failure.cause}`]
    : []
  return [line, ...more.map((text) => `           ${text}`)]
    .map((text) => `${text.replace(CONTROLS, ' ').trimEnd()}\n`)
    .join('')
}

export function sumOf(results: readonly StepResult[], not_removed: readonly string[]): string {
  const counts = (['ok', 'failed', 'skipped'] as const)
    .map((wanted) => [results.filter(({ outcome }) => outcome === wanted).length, wanted] as const)
    .filter(([count, wanted]) => count > 0 || wanted === 'failed')
    .map(([count, wanted]) => `${count} ${wanted}`)
  const remains = not_removed.length > 0 ? `Not removed: ${not_removed.join(', ')}\n` : ''
  return `\n${counts.join(', ')}\n${remains}`
}

/** The results for programs. */
export function checkReportJson(
  url: string,
  results: readonly StepResult[],
  not_removed: readonly string[],
): Record<string, unknown> {
  const ok = not_removed.length === 0 && !results.some(({ outcome }) => outcome === 'failed')
  return { ok, url, steps: results, not_removed }
}
