import type { Finding } from '../../engines/check/check.ts'
import { formatSeconds } from '../units.ts'
import type { Subject } from './subjects.ts'

/** What was found of one engine. */
export type EngineFindings = { subject: Subject; findings: Finding[] }

/** No engine lacks what it must do. */
export function allHold(results: readonly EngineFindings[]): boolean {
  return !results.some(({ findings }) => findings.some(({ outcome, level }) => outcome === 'fails' && level === 'must'))
}

/** The results for programs. */
export function engineReportJson(results: readonly EngineFindings[]): Record<string, unknown> {
  return {
    ok: allHold(results),
    engines: results.map(({ subject, findings }) => {
      const { family, model, engine, kind, at } = subject
      return { family, model, engine, kind, at, checks: findings }
    }),
  }
}

/** The results for people: a heading and a table for each engine, and a sum. */
export function tableOf(results: readonly EngineFindings[]): string {
  const tables = results.map(({ subject, findings }) => `${headingOf(subject)}\n${findings.map(rowOf).join('')}`)
  return `${tables.join('\n')}\n${sumOf(results.flatMap(({ findings }) => findings))}\n`
}

/** `h3, engine gpu-1: videos-api at https://gpu.example`. */
export function headingOf({ family, model, engine, kind, at }: Subject): string {
  const name = model === null ? family : engine === null ? model : `${model}, engine ${engine}`
  return `${name}: ${kind}${at === null ? '' : ` at ${at}`}`
}

/** A translation or a name may hold what a terminal would obey. */
const CONTROLS = /\p{Cc}/gu

const MARKS: Record<Finding['outcome'], string> = { holds: '✓', fails: '✗', skipped: '–' }

function rowOf({ title, level, outcome, detail, seconds }: Finding): string {
  const time = outcome === 'skipped' || seconds < 0.1 ? '' : `  ${formatSeconds(seconds)}`
  const weight = outcome === 'fails' && level === 'should' ? ' (not required)' : ''
  const more = detail === '' ? '' : `      ${detail.replace(CONTROLS, ' ')}\n`
  return `  ${MARKS[outcome]} ${title}${weight}${time}\n${more}`
}

function sumOf(findings: readonly Finding[]): string {
  const count = (is: (finding: Finding) => boolean) => findings.filter(is).length
  const failed = count(({ outcome, level }) => outcome === 'fails' && level === 'must')
  const lacking = count(({ outcome, level }) => outcome === 'fails' && level === 'should')
  const skipped = count(({ outcome }) => outcome === 'skipped')
  return [
    `${count(({ outcome }) => outcome === 'holds')} hold`,
    `${failed} ${failed === 1 ? 'fails' : 'fail'}`,
    ...(lacking > 0 ? [`${lacking} not required ${lacking === 1 ? 'fails' : 'fail'}`] : []),
    ...(skipped > 0 ? [`${skipped} not applicable`] : []),
  ].join(', ')
}
