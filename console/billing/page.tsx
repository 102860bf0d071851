import { Download, ReceiptText } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Static } from 'typebox'
import type { LedgerEntryView } from '../../server/billing/schema.ts'
import { useModelNames } from '../api/chat-models.ts'
import { type Balance, useBalance, usePagedList } from '../api/queries.ts'
import { useIsManager, useSession } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { buttonClass, Link } from '../ui/button.tsx'
import { cx } from '../ui/class-names.ts'
import { CodeBlock, Id } from '../ui/data/code.tsx'
import { DateTime, Money, useFormat } from '../ui/data/format.tsx'
import { type Column, Table } from '../ui/data/table.tsx'
import { FailureNote, Note } from '../ui/failure-note.tsx'
import { Card, EmptyState, PageHeader, Skeleton } from '../ui/layout.tsx'

type Entry = Static<typeof LedgerEntryView>

export function BillingPage() {
  const t = useText('billing')
  const balance = useBalance()
  const list = usePagedList<Entry>(['ledger'], '/console/ledger', { limit: 50 })
  const columns = useColumns(balance.data?.currency)
  const csv = (
    <a href="/console/ledger.csv" download className={buttonClass()}>
      <Download aria-hidden />
      {t('csv')}
    </a>
  )
  const empty = (
    <EmptyState icon={<ReceiptText />} title={t('empty_title')}>
      {t('empty_text')}
    </EmptyState>
  )
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} actions={csv} />
      {balance.error ? (
        <FailureNote error={balance.error} onRetry={() => void balance.refetch()} />
      ) : (
        <Figures balance={balance.data} />
      )}
      <h2 className="mt-8 mb-3 text-sm font-semibold">{t('ledger')}</h2>
      <Table label={t('ledger')} columns={columns} rows={balance.data ? list.rows : null} list={list} empty={empty} />
    </>
  )
}

function Figures({ balance }: { balance: Balance | undefined }) {
  const t = useText('billing')
  const spent = balance !== undefined && (balance.balance.startsWith('-') || Number(balance.balance) === 0)
  return (
    <div className="flex flex-col gap-3">
      <dl className="grid overflow-hidden rounded-xl border border-line bg-surface shadow-raised max-sm:divide-y sm:grid-cols-3 sm:divide-x divide-line">
        <Figure label={t('balance')} hint={t('balance_hint')} amount={balance?.balance} currency={balance?.currency} />
        <Figure label={t('held')} hint={t('held_hint')} amount={balance?.held} currency={balance?.currency} />
        <Figure
          label={t('available')}
          hint={t('available_hint')}
          amount={balance?.available}
          currency={balance?.currency}
        />
      </dl>
      {spent && <Note tone="warning">{t('low')}</Note>}
      <AddCredit />
    </div>
  )
}

/** Credit is added by the operator with a command that owners and admins can forward. */
function AddCredit() {
  const t = useText('billing')
  const { organization } = useSession()
  if (!useIsManager()) return <p className="text-[0.8125rem] text-muted">{t('add_ask')}</p>
  const command = `npx kinora admin credits grant --org ${organization.id} --amount 50.00 --note "Top-up"`
  return (
    <Card title={t('add')} description={t('add_text')}>
      <CodeBlock label={t('add_command')} code={command} wrap />
    </Card>
  )
}

type FigureProps = { label: string; hint: string; amount: string | undefined; currency: string | undefined }

function Figure({ label, hint, amount, currency }: FigureProps) {
  return (
    <div className="flex flex-col gap-1 px-5 py-4">
      <dt className="text-[0.8125rem] text-muted">{label}</dt>
      <dd className="flex flex-col gap-1">
        <span className="text-2xl font-semibold tracking-tight">
          {amount !== undefined && currency ? (
            <Money amount={amount} currency={currency} />
          ) : (
            <Skeleton className="my-1 h-6 w-28" />
          )}
        </span>
        <span className="text-[0.8125rem] text-pretty text-muted">{hint}</span>
      </dd>
    </div>
  )
}

function useColumns(currency: string | undefined): Column<Entry>[] {
  const t = useText('billing')
  return [
    { key: 'what', header: t('column_what'), lead: true, cell: (entry) => <Purpose entry={entry} /> },
    { key: 'who', header: t('column_who'), cell: (entry) => <Who entry={entry} /> },
    { key: 'when', header: t('column_when'), cell: ({ created_at }) => <DateTime at={created_at} /> },
    {
      key: 'amount',
      header: t('column_amount'),
      align: 'end',
      cell: ({ amount }) => (
        <span className={cx('font-medium', !amount.startsWith('-') && 'text-success')}>
          {currency && <Money amount={amount} currency={currency} digits="exact" sign />}
        </span>
      ),
    },
  ]
}

/** The note of the grant that an organization is created with. As server/identity/people/first-run.ts writes it. */
const OPENING_NOTE = 'Opening balance'

/** What an entry is for, as a text; a charge for a video links to it. */
function Purpose({ entry }: { entry: Entry }): ReactNode {
  const t = useText('billing')
  const { number } = useFormat()
  const modelName = useModelNames()
  const { kind, amount, video_id, model, seconds, note, input_tokens, output_tokens } = entry
  if (kind === 'grant')
    return (
      <Lines
        first={t(amount.startsWith('-') ? 'kind_withdrawal' : 'kind_grant')}
        second={note === OPENING_NOTE ? t('opening_balance') : note}
      />
    )
  if (video_id !== null) {
    const link = (
      <Link to="/videos/$id" params={{ id: video_id }} aria-label={`${t('open_video')} ${video_id}`}>
        <Id>{video_id}</Id>
      </Link>
    )
    return (
      <Lines first={t('kind_video', { seconds: number(seconds ?? 0), model: modelName(model ?? '') })} second={link} />
    )
  }
  const tokens = number((input_tokens ?? 0) + (output_tokens ?? 0))
  return <Lines first={t('kind_chat', { model: modelName(model ?? ''), tokens })} second={note} />
}

/** Whose charge it is and by which key. */
function Who({ entry }: { entry: Entry }): ReactNode {
  const t = useText('billing')
  const { kind, user_id, user_name, key_id, key_name } = entry
  if (kind === 'grant' || user_id === null) return null
  const key = key_id === null ? t('by_console') : (key_name ?? t('by_key'))
  return <Lines first={user_name ?? t('by_other')} second={key} />
}

function Lines({ first, second }: { first: string; second: ReactNode }) {
  return (
    <span className="flex min-w-0 flex-col">
      <span className="font-medium [overflow-wrap:anywhere]">{first}</span>
      {second && <span className="text-[0.8125rem] text-muted [overflow-wrap:anywhere]">{second}</span>}
    </span>
  )
}
