import { Link } from '@tanstack/react-router'
import { Lock, Plus, Webhook } from 'lucide-react'
import { useState } from 'react'
import { usePagedList } from '../api/queries.ts'
import { useIsManager } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { DateTime } from '../ui/data/format.tsx'
import { type Column, Table } from '../ui/data/table.tsx'
import { EmptyState, PageHeader } from '../ui/layout.tsx'
import { CreateEndpointDialog } from './create-endpoint-dialog.tsx'
import { ENDPOINTS, PATH, type WebhookEndpoint } from './endpoint.ts'
import { EndpointStatus } from './status.tsx'

export function WebhooksPage() {
  const t = useText('webhooks')
  if (useIsManager()) return <Endpoints />
  return (
    <>
      <PageHeader title={t('title')} />
      <EmptyState icon={<Lock />} title={t('not_allowed_title')}>
        {t('not_allowed_text')}
      </EmptyState>
    </>
  )
}

function Endpoints() {
  const t = useText('webhooks')
  const list = usePagedList<WebhookEndpoint>(ENDPOINTS, PATH, { limit: 100 }, { refetchInterval: 30_000 })
  const [creating, setCreating] = useState(false)
  const columns = useColumns()
  const create = (
    <Button variant="primary" icon={<Plus />} onClick={() => setCreating(true)}>
      {t('create')}
    </Button>
  )
  const empty = (
    <EmptyState icon={<Webhook />} title={t('empty_title')} action={create}>
      {t('empty_text')}
    </EmptyState>
  )
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} actions={list.rows?.length ? create : undefined} />
      <Table label={t('list')} columns={columns} rows={list.rows} list={list} empty={empty} skeletonRows={3} />
      {creating && <CreateEndpointDialog onClose={() => setCreating(false)} />}
    </>
  )
}

function useColumns(): Column<WebhookEndpoint>[] {
  const t = useText('webhooks')
  return [
    {
      key: 'name',
      header: t('name'),
      lead: true,
      cell: ({ id, name }) => (
        <Link to="/webhooks/$id" params={{ id }} className="font-medium [overflow-wrap:anywhere] hover:underline">
          {name}
        </Link>
      ),
    },
    { key: 'url', header: t('url'), cell: ({ url }) => <span className="[overflow-wrap:anywhere]">{url}</span> },
    { key: 'status', header: t('column_status'), cell: (endpoint) => <EndpointStatus endpoint={endpoint} /> },
    { key: 'events', header: t('column_events'), cell: ({ event_types }) => event_types.length, align: 'end' },
    { key: 'created', header: t('column_created'), cell: ({ created_at }) => <DateTime at={created_at} /> },
  ]
}
