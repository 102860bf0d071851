import { useParams } from '@tanstack/react-router'
import { ArrowLeft, Webhook } from 'lucide-react'
import { failureOf } from '../api/failure.ts'
import { useText } from '../text/use-text.ts'
import { useBackTo } from '../ui/back.ts'
import { ButtonLink } from '../ui/button.tsx'
import { Badge } from '../ui/data/badge.tsx'
import { Code } from '../ui/data/code.tsx'
import { DateTime } from '../ui/data/format.tsx'
import { FailureNote, Note } from '../ui/failure-note.tsx'
import { EmptyState, PageHeader, Skeleton } from '../ui/layout.tsx'
import { EndpointActions } from './actions.tsx'
import { Deliveries } from './deliveries.tsx'
import { useEndpoint, type WebhookEndpoint } from './endpoint.ts'
import { EndpointStatus } from './status.tsx'

/** One endpoint: its state, what can be done with it, and what was sent to it. */
export function EndpointPage() {
  const t = useText('webhooks')
  const { id } = useParams({ from: '/shell/webhooks/$id' })
  const { data, error, refetch } = useEndpoint(id)
  const { onClick } = useBackTo('/webhooks')
  return (
    <>
      <ButtonLink
        to="/webhooks"
        onClick={onClick}
        variant="ghost"
        size="sm"
        icon={<ArrowLeft />}
        className="-ms-2.5 mb-3"
      >
        {t('back')}
      </ButtonLink>
      {data ? <Endpoint endpoint={data} /> : <NoEndpoint error={error} onRetry={() => void refetch()} />}
    </>
  )
}

function Endpoint({ endpoint }: { endpoint: WebhookEndpoint }) {
  const t = useText('webhooks')
  return (
    <>
      <PageHeader title={endpoint.name} actions={<EndpointActions endpoint={endpoint} />}>
        <Facts endpoint={endpoint} />
        <Notice endpoint={endpoint} />
      </PageHeader>
      <h2 className="mt-8 mb-3 text-sm font-semibold">{t('deliveries')}</h2>
      <Deliveries endpoint={endpoint} />
    </>
  )
}

function Facts({ endpoint }: { endpoint: WebhookEndpoint }) {
  const t = useText('webhooks')
  const { url, signing_secret_hint, previous_secret_until, event_types } = endpoint
  return (
    <div className="flex flex-col gap-2.5 text-sm">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <EndpointStatus endpoint={endpoint} />
        <span className="[overflow-wrap:anywhere]">{url}</span>
      </p>
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-muted">
        {t('secret_label')}: <Code>{signing_secret_hint}</Code>
        {previous_secret_until !== null && previous_secret_until * 1000 > Date.now() && (
          <span>
            {t('previous_secret')} <DateTime at={previous_secret_until} />
          </span>
        )}
      </p>
      <p className="flex flex-wrap gap-1.5">
        {event_types.map((type) => (
          <Badge key={type}>{type}</Badge>
        ))}
      </p>
    </div>
  )
}

/** Why nothing is sent, or that it may soon be so. */
function Notice({ endpoint }: { endpoint: WebhookEndpoint }) {
  const t = useText('webhooks')
  const { disabled_reason, failing_since } = endpoint
  if (disabled_reason !== null) {
    return <Note tone={disabled_reason === 'owner' ? 'info' : 'danger'}>{t(`disabled_${disabled_reason}`)}</Note>
  }
  if (failing_since === null) return null
  return (
    <Note tone="warning">
      {t('failing_since')} <DateTime at={failing_since} />
    </Note>
  )
}

function NoEndpoint({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const t = useText('webhooks')
  if (!error) return <Skeleton className="h-24 w-full" />
  if (failureOf(error).status !== 404) return <FailureNote error={error} onRetry={onRetry} />
  return (
    <>
      <PageHeader title={t('missing_title')} />
      <EmptyState icon={<Webhook />} title={t('missing_title')}>
        {t('missing_text')}
      </EmptyState>
    </>
  )
}
