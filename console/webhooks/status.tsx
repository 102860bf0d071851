import { useText } from '../text/use-text.ts'
import { StatusBadge } from '../ui/data/badge.tsx'
import type { WebhookEndpoint } from './endpoint.ts'

export function EndpointStatus({ endpoint }: { endpoint: WebhookEndpoint }) {
  const t = useText('webhooks')
  const { enabled, disabled_reason, failing_since } = endpoint
  if (!enabled && disabled_reason === 'owner') return <StatusBadge tone="neutral">{t('status_disabled')}</StatusBadge>
  if (!enabled) return <StatusBadge tone="danger">{t('status_disabled')}</StatusBadge>
  if (failing_since !== null) return <StatusBadge tone="warning">{t('status_failing')}</StatusBadge>
  return <StatusBadge tone="success">{t('status_enabled')}</StatusBadge>
}
