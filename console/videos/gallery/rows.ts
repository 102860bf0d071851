import { type DayRun, dayOf, type JobList, joined } from '../jobs/list-pages.ts'

/** A heading, or the places in the list of the cards in a row. */
export type GalleryRow =
  | { kind: 'day'; key: string; day: string }
  | { kind: 'cards'; key: string; from: number; count: number }

/** The rows of the gallery: under each day its cards. Jobs that are being submitted, `pending` of them, come first, today. */
export function rowsOf(pages: JobList, options: { pending: number; columns: number }): readonly GalleryRow[] {
  const { pending, columns } = options
  if (columns === 0) return []
  const first: DayRun[] = pending === 0 ? [] : [{ day: dayOf(Date.now() / 1000), count: pending }]
  const rows: GalleryRow[] = []
  let place = 0
  for (const { day, count } of joined([...first, ...pages.flatMap(({ days }) => days)])) {
    rows.push({ kind: 'day', key: `${day} ${place}`, day })
    for (let from = place; from < place + count; from += columns)
      rows.push({ kind: 'cards', key: String(from), from, count: Math.min(columns, place + count - from) })
    place += count
  }
  return rows
}
