import type { Figure } from './figure.ts'
import type { Budget, Row, Yardstick } from './row.ts'

const HEAD = ['', 'figure', 'yardstick', 'ratio', 'budget', '']

/**
 * Rows as one aligned table, each yardstick after the first on a line of its own, and the notes of yardsticks below. A figure is the
 * median, with the range of its rounds.
 */
export function tableOf(rows: readonly Row[]): string {
  const lines = [HEAD, ...rows.flatMap(linesOf)]
  const widths = HEAD.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  const table = lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
  const notes = notesOf(rows)
  return [...table, ...(notes.length > 0 ? ['', ...notes] : [])].join('\n')
}

/** A number with three digits that count. */
export function format(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2)
}

/** Of every yardstick that was measured, once. */
function notesOf(rows: readonly Row[]): string[] {
  const measured = rows.flatMap(({ yardsticks }) => yardsticks).filter(({ figure, note }) => figure && note)
  return [...new Set(measured.map(({ name, note }) => `${name}: ${note}`))]
}

function linesOf(row: Row): string[][] {
  const own = [row.name, row.figure ? `${rangeOf(row.figure)} ${row.unit}` : row.missing!]
  if (row.yardsticks.length === 0) return [[...own, '—', '—', budgetText(row, row.budget), verdict(row, row.ok)]]
  const compared = row.yardsticks.map((yardstick) => cellsOf(row, yardstick))
  if (row.budget)
    return [
      [...own, '—', '—', budgetText(row, row.budget), verdict(row, judgedAlone(row))],
      ...compared.map((cells) => ['', '', ...cells]),
    ]
  return compared.map((cells, i) => [...(i === 0 ? own : ['', '']), ...cells])
}

function cellsOf(row: Row, yardstick: Yardstick): string[] {
  const { name, figure, missing, budget, ok } = yardstick
  return [
    figure ? `${name} ${rangeOf(figure)}` : `${name}: ${missing}`,
    comparedText(yardstick),
    budgetText(row, budget),
    verdict({ figure, budget }, ok),
  ]
}

function comparedText({ ratio, difference, budget }: Yardstick): string {
  if (ratio === null || difference === null) return '—'
  if (budget?.of !== 'difference') return ratio.toFixed(2)
  return `${difference >= 0 ? '+' : ''}${format(difference)}`
}

function rangeOf({ median, min, max, rounds }: Figure): string {
  return rounds.length === 1 ? format(median) : `${format(median)} (${format(min)}–${format(max)})`
}

function budgetText({ better, unit }: Row, budget: Budget | null): string {
  if (!budget) return '—'
  const sign = { lower: '≤', higher: '≥', exact: '=' }[better]
  const limit = String(Number(budget.limit.toPrecision(3)))
  return `${sign} ${limit}${{ figure: ` ${unit}`, ratio: ' ×', difference: ` ${unit} more` }[budget.of]}`
}

function verdict({ figure, budget }: { figure: Figure | null; budget: Budget | null }, ok: boolean | null): string {
  if (ok !== null) return ok ? 'ok' : 'MISSED'
  return budget && !figure ? 'not judged' : ''
}

/** Of the row's own budget, its yardsticks not counted. */
function judgedAlone({ better, figure, budget }: Row): boolean | null {
  if (!figure || !budget) return null
  if (better === 'exact') return figure.median === budget.limit
  return better === 'lower' ? figure.median <= budget.limit : figure.median >= budget.limit
}
