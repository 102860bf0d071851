/** A number written without quotes or escapes, for programs that calculate. */
export type Exact = { exact: string }
export type Cell = string | number | null | Exact

/** Byte order mark, so that spreadsheets read the file as UTF-8. */
export const CSV_START = '\ufeff'

/**
 * One line with its line end. Text that a spreadsheet would run as a formula gets an apostrophe in front.
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

/** Also after white space, which spreadsheets trim, and in full-width forms, which some normalize. */
const FORMULA = /^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|^[\t\r\n]/u
