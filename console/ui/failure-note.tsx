import { CircleAlert, Info, TriangleAlert } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { type Failure, failureOf } from '../api/failure.ts'
import { useText } from '../text/use-text.ts'
import { Button } from './button.tsx'
import { cx } from './class-names.ts'
import { useFormat } from './data/format.tsx'
import { isAbout, useFailureText } from './failure-text.ts'

const TONES = {
  info: { look: 'border-line bg-sunken text-ink', Icon: Info, ink: 'text-muted' },
  warning: { look: 'border-warning/35 bg-warning-soft text-ink', Icon: TriangleAlert, ink: 'text-warning' },
  danger: { look: 'border-danger/35 bg-danger-soft text-ink', Icon: CircleAlert, ink: 'text-danger' },
}

/** A notice that stays on the page. */
export function Note({
  tone = 'info',
  children,
  action,
}: {
  tone?: keyof typeof TONES
  children: ReactNode
  action?: ReactNode
}) {
  const { look, Icon, ink } = TONES[tone]
  return (
    <div
      role={tone === 'danger' ? 'alert' : undefined}
      className={cx('flex items-start gap-2.5 rounded-lg border px-3.5 py-2.5 text-sm', look)}
    >
      <Icon aria-hidden className={cx('mt-0.5 size-4 shrink-0', ink)} />
      <div className="min-w-0 grow [overflow-wrap:anywhere]">{children}</div>
      {action}
    </div>
  )
}

/**
 * The text of a failure in the reader's language, with the invalid parameter where no field shows it, or the request id to report when
 * the service is at fault or the code says nothing specific.
 */
export function FailureNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useText('kit')
  const failure = failureOf(error)
  const { status, code, param, request_id, retry_at_ms } = failure
  const text = useFailureText(failure)
  const isVague = status >= 500 || (status >= 400 && param === null && code === 'invalid_request_error')
  const detail = isVague ? request_id : status === 400 ? param : null
  const retry = onRetry && (
    <Button size="sm" onClick={onRetry}>
      {t('retry')}
    </Button>
  )
  return (
    <Note tone="danger" action={retry}>
      {code === 'rate_limit_exceeded' && retry_at_ms !== null ? (
        <Wait key={retry_at_ms} until_ms={retry_at_ms} />
      ) : (
        text
      )}
      {detail && <span className="mt-1 block font-mono text-xs text-muted">{detail}</span>}
    </Note>
  )
}

/** Counts down to when a request may be repeated. Screen readers read the time once, and then that it has passed. */
function Wait({ until_ms }: { until_ms: number }) {
  const t = useText('errors')
  const { inSeconds } = useFormat()
  const [seconds, setSeconds] = useState(() => secondsUntil(until_ms))
  const over = seconds <= 0
  useEffect(() => {
    if (over) return
    const timer = setInterval(() => setSeconds(secondsUntil(until_ms)), 1000)
    return () => clearInterval(timer)
  }, [until_ms, over])
  if (over) return t('wait_over')
  return (
    <>
      {t('too_often')} <span role="timer">{t('wait', { when: inSeconds(seconds) })}</span>
    </>
  )
}

function secondsUntil(until_ms: number): number {
  return Math.ceil((until_ms - Date.now()) / 1000)
}

/** The failure of a form, unless one of its fields shows it. */
export function FormError({ error, fields = [] }: { error: Failure | unknown; fields?: readonly string[] }) {
  if (error === null || error === undefined || fields.some((field) => isAbout(error, field))) return null
  return <FailureNote error={error} />
}
