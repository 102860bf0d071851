import { useQuery } from '@tanstack/react-query'
import type { DeliveryDetail } from '../../server/webhooks/schema.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { CodeBlock } from '../ui/data/code.tsx'
import { DateTime } from '../ui/data/format.tsx'
import { FailureNote } from '../ui/failure-note.tsx'
import { Skeleton } from '../ui/layout.tsx'
import { Dialog } from '../ui/overlay/dialog.tsx'
import { type Delivery, ENDPOINTS, PATH } from './endpoint.ts'
import { useErrorText } from './error-text.ts'

type Attempt = DeliveryDetail['sent'][number]

/** What was sent to an endpoint about one event, and what it answered, attempt by attempt. */
export function DeliveryDialog({ delivery, onClose }: { delivery: Delivery; onClose: () => void }) {
  const t = useText('webhooks')
  const path = `${PATH}/${delivery.webhook_endpoint_id}/deliveries/${delivery.id}`
  const { data, error, refetch } = useQuery({
    queryKey: [...ENDPOINTS, delivery.webhook_endpoint_id, 'delivery', delivery.id],
    queryFn: ({ signal }) => request<DeliveryDetail>('GET', path, { signal }),
  })
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      size="lg"
      title={delivery.event_type}
      description={t('details_text')}
    >
      {error ? <FailureNote error={error} onRetry={() => void refetch()} /> : !data && <Skeleton className="h-64" />}
      {data?.sent.length === 0 && <p className="text-sm text-muted">{t('not_sent')}</p>}
      <ol className="flex flex-col gap-6">
        {data?.sent.map((attempt) => (
          <li key={attempt.number}>
            <OneAttempt attempt={attempt} body={data.request_body} />
          </li>
        ))}
      </ol>
    </Dialog>
  )
}

function OneAttempt({ attempt, body }: { attempt: Attempt; body: string }) {
  const t = useText('webhooks')
  const errorText = useErrorText()
  const { number, sent_at, origin, request_headers, status_code, response_headers, response_body } = attempt
  const answer = [String(status_code), ...linesOf(response_headers ?? {}), '', response_body].join('\n').trimEnd()
  return (
    <section aria-label={t('attempt', { number })} className="flex flex-col gap-2">
      <h3 className="flex flex-wrap gap-x-3 text-sm font-medium">
        {t('attempt', { number })}
        <span className="font-normal text-muted">
          <DateTime at={sent_at} />
        </span>
      </h3>
      <p className="text-xs text-muted">{t('request')}</p>
      <CodeBlock
        wrap
        code={[`POST ${origin}`, ...linesOf(request_headers), '', body].join('\n')}
        label={t('request_of', { number })}
      />
      <p className="text-xs text-muted">{t('column_answer')}</p>
      {status_code === null ? (
        <p className="text-sm">{errorText(attempt)}</p>
      ) : (
        <CodeBlock wrap code={answer} label={t('answer_of', { number })} />
      )}
    </section>
  )
}

function linesOf(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
}
