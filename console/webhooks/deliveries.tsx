import { useMutation } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Inbox } from 'lucide-react'
import { useState } from 'react'
import { usePagedList } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { StatusBadge, type Tone } from '../ui/data/badge.tsx'
import { Code } from '../ui/data/code.tsx'
import { DateTime } from '../ui/data/format.tsx'
import { type Column, Table } from '../ui/data/table.tsx'
import { FailureNote } from '../ui/failure-note.tsx'
import { Segmented } from '../ui/form/choice.tsx'
import { EmptyState } from '../ui/layout.tsx'
import { DeliveryDialog } from './delivery-dialog.tsx'
import { type Delivery, ENDPOINTS, PATH, useRefresh, type WebhookEndpoint } from './endpoint.ts'
import { useErrorText } from './error-text.ts'

const STATES = ['all', 'pending', 'delivered', 'failed', 'skipped'] as const
const TONES: Record<Delivery['state'], Tone> = {
  pending: 'accent',
  delivered: 'success',
  failed: 'danger',
  skipped: 'neutral',
}

/** What was sent to an endpoint, and what will be. */
export function Deliveries({ endpoint }: { endpoint: WebhookEndpoint }) {
  const t = useText('webhooks')
  const navigate = useNavigate()
  const asked = useSearch({ from: '/shell/webhooks/$id' }).state
  const state = STATES.find((each) => each === asked) ?? 'all'
  const setState = (next: typeof state) =>
    void navigate({ to: '.', search: next === 'all' ? {} : { state: next }, replace: true, resetScroll: false })
  const key = [...ENDPOINTS, endpoint.id, 'deliveries']
  const query = { limit: 50, ...(state !== 'all' && { state }) }
  const list = usePagedList<Delivery>(key, `${PATH}/${endpoint.id}/deliveries`, query, { refetchInterval: 5000 })
  const send = useSendAgain(endpoint)
  const [shown, setShown] = useState<Delivery | null>(null)
  const columns = useColumns(setShown, endpoint.enabled ? send.mutate : null)
  const empty = (
    <EmptyState icon={<Inbox />} title={t('no_deliveries_title')}>
      {t('no_deliveries_text')}
    </EmptyState>
  )
  return (
    <div className="flex flex-col gap-3">
      <Segmented
        value={state}
        label={t('filter')}
        options={STATES.map((value) => ({ value, label: t(`state_${value}`) }))}
        onChange={setState}
      />
      {send.error ? <FailureNote error={send.error} /> : null}
      <Table label={t('deliveries')} columns={columns} rows={list.rows} list={list} empty={empty} skeletonRows={4} />
      {shown && <DeliveryDialog delivery={shown} onClose={() => setShown(null)} />}
    </div>
  )
}

function useSendAgain({ id }: WebhookEndpoint) {
  const refresh = useRefresh()
  return useMutation({
    mutationFn: (event_id: string) => request('POST', `${PATH}/${id}/redeliver`, { body: { event_id } }),
    onSuccess: refresh,
  })
}

function useColumns(
  onShow: (delivery: Delivery) => void,
  onSend: ((event_id: string) => void) | null,
): Column<Delivery>[] {
  const t = useText('webhooks')
  const errorText = useErrorText()
  const actions: Column<Delivery> = {
    key: 'actions',
    header: t('column_actions'),
    controls: true,
    align: 'end',
    cell: (delivery) => (
      <span className="flex flex-wrap justify-end">
        <Button size="sm" variant="ghost" onClick={() => onShow(delivery)}>
          {t('details')}
        </Button>
        {onSend && (
          <Button size="sm" variant="ghost" onClick={() => onSend(delivery.id)}>
            {t('redeliver')}
          </Button>
        )}
      </span>
    ),
  }
  return [
    {
      key: 'event',
      header: t('event_type'),
      lead: true,
      cell: ({ event_type, data }) => (
        <span className="flex flex-col gap-0.5">
          <span className="font-medium">{event_type}</span>
          <Code>{data.id}</Code>
        </span>
      ),
    },
    {
      key: 'state',
      header: t('column_status'),
      cell: ({ state }) => <StatusBadge tone={TONES[state]}>{t(`state_${state}`)}</StatusBadge>,
    },
    {
      key: 'answer',
      header: t('column_answer'),
      cell: (delivery) => (delivery.error === null ? delivery.status_code : errorText(delivery)),
    },
    { key: 'attempts', header: t('column_attempts'), align: 'end', cell: ({ attempts }) => attempts },
    {
      key: 'next',
      header: t('column_next'),
      cell: ({ next_attempt_at }) => next_attempt_at !== null && <DateTime at={next_attempt_at} relative />,
    },
    { key: 'created', header: t('column_event_time'), cell: ({ created_at }) => <DateTime at={created_at} /> },
    actions,
  ]
}
