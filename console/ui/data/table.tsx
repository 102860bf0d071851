import type { MouseEvent, ReactNode } from 'react'
import type { PagedList } from '../../api/queries.ts'
import { cx } from '../class-names.ts'
import { FailureNote } from '../failure-note.tsx'
import { Skeleton } from '../layout.tsx'
import { LoadMore } from './load-more.tsx'

export type Column<T> = {
  key: string
  /** Heads the column, and names the value where the table is shown as cards. */
  header: string
  cell: (row: T) => ReactNode
  align?: 'start' | 'end'
  /** Names the row: shown first and without its label on cards. */
  lead?: boolean
  /** Holds controls: no label on cards, no opening of the row. */
  controls?: boolean
  className?: string
}

type TableProps<T extends { id: string }> = {
  /** Read aloud as the name of the table. */
  label: string
  columns: ReadonlyArray<Column<T>>
  /** null while they load. */
  rows: T[] | null
  /** Shown in place of no rows. */
  empty?: ReactNode
  /** Opens a row; the lead column should hold a link to the same place, for the keyboard. */
  onOpen?: (row: T) => void
  /** From `usePagedList`: brings further pages, errors and the button for more. */
  list?: Pick<PagedList<T>, 'error' | 'has_more' | 'is_loading_more' | 'loadMore' | 'reload'>
  skeletonRows?: number
}

/** Rows of one kind. The head stays in sight; where it is narrow each row becomes a card. */
export function Table<T extends { id: string }>({
  label,
  columns,
  rows,
  empty,
  onOpen,
  list,
  skeletonRows = 5,
}: TableProps<T>) {
  if (rows === null && list?.error) return <FailureNote error={list.error} onRetry={list.reload} />
  if (rows?.length === 0 && empty)
    return <div className="rounded-xl border border-line bg-surface shadow-raised">{empty}</div>
  return (
    <div className="flex flex-col gap-1">
      <div className="@container/table min-w-0 rounded-xl border border-line bg-surface shadow-raised">
        <table
          className="stack w-full border-separate border-spacing-0 text-sm"
          aria-label={label}
          aria-busy={rows === null}
        >
          <Head columns={columns} />
          <tbody>
            {rows === null
              ? SKELETONS.slice(0, skeletonRows).map((name) => <SkeletonRow key={name} columns={columns} />)
              : rows.map((row) => <Row key={row.id} {...{ row, columns, onOpen }} />)}
          </tbody>
        </table>
      </div>
      {rows !== null && list?.error ? <FailureNote error={list.error} onRetry={list.reload} /> : null}
      {list && <LoadMore list={list} />}
    </div>
  )
}

const SKELETONS = [...'abcdefghijklmnopqrst']

const CELL = 'border-b border-line px-4 py-2.5 align-middle'

function Head<T>({ columns }: { columns: ReadonlyArray<Column<T>> }) {
  return (
    <thead>
      <tr>
        {columns.map(({ key, header, align, controls, className }) => (
          <th
            key={key}
            scope="col"
            className={cx(
              'sticky top-(--sticky-top,0) z-10 border-b border-line bg-surface px-4 py-2.5 text-xs font-medium whitespace-nowrap text-muted first:rounded-tl-xl last:rounded-tr-xl',
              align === 'end' ? 'text-end' : 'text-start',
              className,
            )}
          >
            {controls ? <span className="sr-only">{header}</span> : header}
          </th>
        ))}
      </tr>
    </thead>
  )
}

function Row<T extends { id: string }>({
  row,
  columns,
  onOpen,
}: {
  row: T
  columns: ReadonlyArray<Column<T>>
  onOpen?: (row: T) => void
}) {
  const open = (event: MouseEvent) => {
    if (!onOpen || (event.target as Element).closest('a, button, input, label, [role="menuitem"]')) return
    if (window.getSelection()?.toString()) return
    onOpen(row)
  }
  return (
    <tr
      onClick={open}
      className={cx(
        'group [&:last-child>td]:border-b-0 not-last:border-line',
        onOpen && 'cursor-pointer hover:bg-hover',
      )}
    >
      {columns.map(({ key, header, cell, align, lead, controls, className }) => (
        <td
          key={key}
          data-lead={lead ? '' : undefined}
          data-label={lead || controls ? undefined : header}
          className={cx(CELL, align === 'end' && 'text-end tabular-nums', className)}
        >
          {cell(row)}
        </td>
      ))}
    </tr>
  )
}

function SkeletonRow<T>({ columns }: { columns: ReadonlyArray<Column<T>> }) {
  return (
    <tr>
      {columns.map(({ key, align, controls, className }, at) => (
        <td key={key} className={cx(CELL, className)}>
          {!controls && (
            // Narrower where the columns have no room.
            <Skeleton
              className={cx('my-0.5 h-4 w-full', at === 0 ? 'max-w-40' : 'max-w-20', align === 'end' && 'ms-auto')}
            />
          )}
        </td>
      ))}
    </tr>
  )
}
