/** One measurement against its budget. `ratio` is figure ÷ yardstick where both are measured in the same run, else `—`. */
export type Row = { name: string; figure: string; yardstick: string; ratio: string; budget: string; ok: boolean }

/** Prints rows as one aligned table. */
export function printRows(rows: readonly Row[]): void {
  const lines = rows.map(({ name, figure, yardstick, ratio, budget, ok }) => [
    name,
    figure,
    yardstick,
    ratio,
    budget,
    ok ? 'ok' : 'MISSED',
  ])
  const table = [['name', 'figure', 'yardstick', 'ratio', 'budget', ''], ...lines]
  const widths = table[0]!.map((_, column) => Math.max(...table.map((line) => line[column]!.length)))
  for (const line of table)
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
}
