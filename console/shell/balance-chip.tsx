import { Link } from '@tanstack/react-router'
import { useBalance } from '../api/queries.ts'
import { useText } from '../text/use-text.ts'
import { cx } from '../ui/class-names.ts'
import { Money } from '../ui/data/format.tsx'
import { Skeleton } from '../ui/layout.tsx'

/** What is left to spend, on the way to the bill. */
export function BalanceChip({ compact }: { compact?: boolean }) {
  const t = useText('shell')
  const { data } = useBalance()
  const empty = data !== undefined && Number(data.available) <= 0
  return (
    <Link
      to="/billing"
      className={cx(
        'flex items-center justify-between gap-3 rounded-lg border border-line bg-surface text-sm hover:bg-hover',
        compact ? 'h-8 px-2.5 pointer-coarse:h-10' : 'h-10 px-3',
      )}
    >
      <span className={compact ? 'sr-only' : 'text-[0.8125rem] text-muted'}>{t('available')}</span>
      {data ? (
        <span className={cx('font-medium', empty && 'text-danger')}>
          <Money amount={data.available} currency={data.currency} />
        </span>
      ) : (
        <Skeleton className="h-4 w-14" />
      )}
    </Link>
  )
}
