/** The most characters of a line that is printed for people. */
const WIDTH = 100
/** Of the names before values. */
const LABEL_WIDTH = 15

/** `2026-11-26T23:54:13Z, 5m ago`, or `in 3s`; a dash for what is not there. */
export function timeWithAge(at: Date | null, now: Date): string {
  if (at === null) return '-'
  const age = ageOf(at, now)
  return `${at.toISOString().slice(0, 19)}Z, ${age.startsWith('-') ? `in ${age.slice(1)}` : `${age} ago`}`
}

/** `11-26 23:54Z`: for lists, beside an age. */
export function shortTime(at: Date): string {
  return `${at.toISOString().slice(5, 16).replace('T', ' ')}Z`
}

/** `45s`, `12m`, `3h`, `9d`; with a minus what is still to come. */
export function ageOf(at: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - at.getTime()) / 1000)
  return `${seconds < 0 ? '-' : ''}${durationOf(Math.abs(seconds))}`
}

export function durationOf(seconds: number): string {
  const [size, unit] = UNITS.find(([size]) => seconds >= size * 2) ?? [1, 's']
  return `${Math.floor(seconds / size)}${unit}`
}

/** From two of a unit on: 90 minutes say more than one hour. */
const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
] as const

/** One for a line. What others wrote may not move the cursor or hide what follows. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
}

/** Lines with the label before the first; a long text goes on below, behind the same indent. */
export function labeled(label: string, text: string): string[] {
  return wrap(plain(text), WIDTH - LABEL_WIDTH).map((line, i) => `${(i === 0 ? label : '').padEnd(LABEL_WIDTH)}${line}`)
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let rest = text
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width)
    const end = space > 0 ? space : width
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest]
}

/** A column of a table. `elastic`: it is cut where a line would be too long. `right`: for numbers. */
export type Column<Row> = {
  heading: string
  text(row: Row): string | null
  elastic?: boolean
  right?: boolean
}

/** Aligned lines with a heading, or `none`. Columns of which every cell is empty are not there. */
export function tableLines<Row>(rows: readonly Row[], columns: ReadonlyArray<Column<Row>>): string[] {
  if (rows.length === 0) return ['none']
  const filled = columns
    .map((column) => ({ ...column, cells: rows.map((row) => plain(column.text(row) ?? '')) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''))
    .map((column) => ({ ...column, cells: [column.heading, ...column.cells.map((cell) => cell || '-')] }))
  const widths = fitted(filled.map(({ cells, elastic }) => ({ width: widest(cells), elastic: elastic ?? false })))
  return ['', ...rows].map((_, row) =>
    filled
      .map(({ cells, right }, i) => cut(cells[row]!, widths[i]!)[right ? 'padStart' : 'padEnd'](widths[i]!))
      .join(GAP)
      .trimEnd(),
  )
}

const GAP = '  '

/** Takes from the widest elastic column until a line fits. */
function fitted(columns: ReadonlyArray<{ width: number; elastic: boolean }>): number[] {
  const widths = columns.map(({ width }) => width)
  const total = () => widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1))
  const elastic = columns.flatMap((column, i) => (column.elastic ? [i] : []))
  while (elastic.length > 0 && total() > WIDTH) {
    const longest = elastic.reduce((one, other) => (widths[other]! > widths[one]! ? other : one))
    if (widths[longest]! <= NARROWEST) break
    widths[longest]! -= 1
  }
  return widths
}

/** A name that is cut further says nothing. */
const NARROWEST = 6

function widest(cells: readonly string[]): number {
  return Math.max(...cells.map(({ length }) => length))
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`
}
