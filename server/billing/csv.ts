/** A number as it stands, for programs that add: never taken for text. */
export type Exact = { exact: string }
export type Cell = string | number | null | Exact

/** What a file begins with, so that spreadsheets read it as UTF-8. */
export const CSV_START = '\ufeff'

/**
 * One line, ended. Text that a spreadsheet would run as a formula is kept text by an apostrophe before it.
 * Source: RFC 4180; OWASP, CSV injection.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`
}

function cellText(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return String(cell)
  if (typeof cell !== 'string') return cell.exact
  const text = FORMULA.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Also behind blanks, which spreadsheets trim, and in the wide forms, which some take for the narrow ones. */
const FORMULA = /^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|^[\t\r\n]/u
