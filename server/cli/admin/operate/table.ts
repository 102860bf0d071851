/** Widest line of what people read. */
const WIDTH = 100
const GAP = 2

/** Rows of one table, the last column cut so that each line fits: all of it is in the JSON. */
export function fitted(rows: ReadonlyArray<readonly string[]>): string[][] {
  const before = (rows[0] ?? []).slice(0, -1)
  const used = before.reduce((sum, _, i) => sum + Math.max(...rows.map((row) => row[i]!.length)) + GAP, 0)
  const room = Math.max(10, WIDTH - used)
  return rows.map((row) => row.map((text, i) => (i === row.length - 1 ? shortened(text, room) : text)))
}

/** The same with its columns aligned, as lines. */
export function lines(rows: ReadonlyArray<readonly string[]>): string[] {
  const table = fitted(rows)
  const widths = (table[0] ?? []).map((_, i) => Math.max(...table.map((row) => row[i]!.length)))
  return table.map((row) => row.map((text, i) => (i < row.length - 1 ? text.padEnd(widths[i]!) : text)).join('  '))
}

function shortened(text: string, max: number): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`
}

/** To the second in UTC: `2026-11-24T08:00:00Z`; a dash for none. */
export function time(date: Date | null): string {
  return date === null ? '-' : `${date.toISOString().slice(0, 19)}Z`
}

/** `0s`, `59s`, `2m5s`, `3h4m`, `2d3h`. */
export function span(from: Date, to: Date): string {
  const seconds = Math.max(0, Math.round((to.getTime() - from.getTime()) / 1000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${seconds % 60}s`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h${Math.floor((seconds % 3600) / 60)}m`
  return `${Math.floor(seconds / 86_400)}d${Math.floor((seconds % 86_400) / 3600)}h`
}
