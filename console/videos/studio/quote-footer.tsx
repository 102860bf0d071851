import { Clapperboard } from 'lucide-react'
import { type ReactNode, type RefObject, useEffect, useId, useLayoutEffect, useRef } from 'react'
import type { Failure } from '../../api/failure.ts'
import { isNegative, subtract } from '../../api/money.ts'
import { type Balance, useBalance } from '../../api/queries.ts'
import { useText } from '../../text/use-text.ts'
import { Button, isApple } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { FailureNote, Note } from '../../ui/failure-note.tsx'
import { Segmented } from '../../ui/form/choice.tsx'
import { Skeleton } from '../../ui/layout.tsx'
import { CLIPS, type Missing } from '../draft/draft.ts'
import { isFull, useAccount } from '../waiting/list.ts'
import { refusedField } from './submit.ts'

/** `cost`: of all clips. */
export type Price = { cost: string; each: string; clips: number; per_second: string; seconds: number; currency: string }
export type Obstacle =
  | Missing
  | 'not_translated'
  | 'models_loading'
  | 'model_missing'
  | 'mode_missing'
  | 'too_many'
  | 'terms'
  | 'credit'

type Props = {
  price: Price | null
  /** How long it is likely to take, in words. */
  estimate: string | null
  obstacle: Obstacle | null
  /** The person has tried to submit: the obstacle is emphasized. */
  tried: boolean
  busy: boolean
  failure: Failure | null
  /** Shown instead of the button until the terms are accepted. */
  terms: ReactNode
  clips: number
  onClips: (clips: number) => void
  onSubmit: () => void
}

/** The price, the balance left, and the button that submits, or the reason why it cannot. */
export function QuoteFooter(props: Props) {
  const { price, estimate, obstacle, tried, failure, terms } = props
  const t = useText('videos')
  const reason = useId()
  const hadTerms = useRef(false)
  useEffect(() => {
    hadTerms.current = terms !== null
  }, [terms])
  return (
    <div className="flex flex-col gap-3">
      <Cost {...{ price, estimate }} />
      {failure && <RefusalNote failure={failure} price={price} />}
      {terms ?? (
        <div className="flex items-center gap-3">
          <Clips {...props} />
          <Generate {...props} hadTerms={hadTerms} described={reason} />
        </div>
      )}
      <p
        id={reason}
        aria-live="polite"
        className={cx('-mt-1 min-h-5 text-center text-[0.8125rem]', tried ? 'text-danger' : 'text-muted')}
      >
        {obstacle && t(`obstacle.${obstacle}`)}
      </p>
    </div>
  )
}

function Clips({ clips, onClips }: Pick<Props, 'clips' | 'onClips'>) {
  const t = useText('videos')
  return (
    <div className="flex items-center gap-2 text-sm">
      <span aria-hidden>{t('clips')}</span>
      <Segmented
        label={t('clips')}
        value={String(clips)}
        options={CLIPS.map((each) => ({ value: String(each), label: each }))}
        onChange={(each) => onClips(Number(each))}
      />
    </div>
  )
}

type GenerateProps = Pick<Props, 'obstacle' | 'busy' | 'onSubmit'> & {
  described: string
  /** The terms were shown here before. */
  hadTerms: RefObject<boolean>
}

function Generate({ obstacle, busy, onSubmit, described, hadTerms }: GenerateProps) {
  const t = useText('videos')
  const button = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => {
    // The button that accepted the terms had the focus and is gone.
    if (hadTerms.current && document.activeElement === document.body) button.current?.focus({ preventScroll: true })
  }, [hadTerms])
  return (
    <Button
      ref={button}
      variant="primary"
      size="lg"
      className="grow"
      icon={<Clapperboard />}
      busy={busy}
      aria-disabled={obstacle !== null || undefined}
      aria-describedby={obstacle ? described : undefined}
      aria-keyshortcuts="Control+Enter Meta+Enter"
      onClick={onSubmit}
    >
      {busy ? t('generating') : t('generate')}
      <kbd
        aria-hidden
        className="ms-1 hidden rounded border border-current/40 px-1 font-sans text-[0.6875rem] opacity-80 pointer-fine:inline"
      >
        {isApple() ? '⌘ ↵' : 'Ctrl ↵'}
      </kbd>
    </Button>
  )
}

function Cost({ price, estimate }: Pick<Props, 'price' | 'estimate'>) {
  const t = useText('videos')
  const { money } = useFormat()
  const { data: balance } = useBalance()
  const exact = (amount: string, currency: string) => money(amount, currency, { digits: 'exact' })
  return (
    <dl className="grid grid-cols-[auto_1fr] items-baseline gap-x-2 gap-y-0.5 text-sm tabular-nums" aria-live="polite">
      <dt>
        {t('cost')}
        {price && (
          <span className="ms-2 text-[0.8125rem] text-muted">
            {price.clips > 1
              ? t('cost_clips', { price: exact(price.each, price.currency), n: price.clips })
              : t('cost_formula', { price: exact(price.per_second, price.currency), n: price.seconds })}
          </span>
        )}
      </dt>
      <dd className="text-end text-base font-semibold" data-cost>
        {price ? exact(price.cost, price.currency) : <Skeleton className="ms-auto my-1 h-4 w-14" />}
      </dd>
      <dd className="col-span-2 text-[0.8125rem] text-muted" data-left>
        {balance && price ? <Left {...{ balance, price }} /> : <Skeleton className="my-0.5 h-4 w-48" />}
      </dd>
      {estimate !== null && (
        <dd className="col-span-2 text-[0.8125rem] text-muted" data-estimate>
          {estimate}
        </dd>
      )}
    </dl>
  )
}

function Left({ balance, price }: { balance: Balance; price: Price }) {
  const t = useText('videos')
  const { money } = useFormat()
  const { currency } = balance
  const left = subtract(balance.available, price.cost)
  const available = money(balance.available, currency)
  if (!isNegative(left)) return t('balance_after', { available, left: money(left, currency) })
  return (
    <span className="text-danger">{t('balance_short', { available, missing: money(left.slice(1), currency) })}</span>
  )
}

/** Why the service refused, and what can be done about it; null when a field shows it. */
function RefusalNote({ failure, price }: { failure: Failure; price: Price | null }) {
  const t = useText('videos')
  const { money } = useFormat()
  const { data: balance } = useBalance()
  const account = useAccount()
  const { code, retry_after_seconds } = failure
  // The terms note covers `agreement_required`.
  if (refusedField(failure) !== null || code === 'agreement_required') return null
  if (code === 'insufficient_credits' && price && balance) {
    const cost = money(price.cost, price.currency)
    return (
      <Note tone="danger">{t('refused.credit', { cost, available: money(balance.available, balance.currency) })}</Note>
    )
  }
  if (code === 'concurrency_limit_exceeded' && isFull(account)) return <Note tone="danger">{t('waiting_full')}</Note>
  if (code === 'rate_limit_exceeded')
    return <Note tone="danger">{t('refused.rate', { n: retry_after_seconds ?? 10 })}</Note>
  if (code === 'network_failed') return <Note tone="danger">{t('refused.network')}</Note>
  return <FailureNote error={failure} />
}
