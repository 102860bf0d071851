import { CircleAlert, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { type Failure, failureOf } from '../api/failure.ts'
import { useText } from '../text/use-text.ts'
import { Button } from './button.tsx'
import { cx } from './class-names.ts'

const TONES = {
  info: { look: 'border-line bg-sunken text-ink', Icon: Info, ink: 'text-muted' },
  warning: { look: 'border-warning/35 bg-warning-soft text-ink', Icon: TriangleAlert, ink: 'text-warning' },
  danger: { look: 'border-danger/35 bg-danger-soft text-ink', Icon: CircleAlert, ink: 'text-danger' },
}

/** A remark that stays on the page. */
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

/** What went wrong, in the reader's language where we have words for it, with the id to quote when it is our fault. */
export function FailureNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useText('kit')
  const failure = failureOf(error)
  const retry = onRetry && (
    <Button size="sm" onClick={onRetry}>
      {t('retry')}
    </Button>
  )
  return (
    <Note tone="danger" action={retry}>
      {useFailureText(failure)}
      {failure.status >= 500 && failure.request_id && (
        <span className="mt-1 block font-mono text-xs text-muted">{failure.request_id}</span>
      )}
    </Note>
  )
}

/** The words for a failure; null for none. */
export function useFailureText(error: unknown): string | null {
  const t = useText('errors')
  if (error === null || error === undefined) return null
  const failure = failureOf(error)
  if (isTold(failure.code)) return t(`known.${failure.code}`)
  return failure.message
}

const TOLD = [
  'network_failed',
  'insufficient_credits',
  'agreement_required',
  'permission_denied',
  'concurrency_limit_exceeded',
  'rate_limit_exceeded',
  'server_error',
  'server_is_overloaded',
  'upstream_error',
  'upstream_timeout',
  'file_too_large',
  'csrf_failed',
] as const

function isTold(code: string): code is (typeof TOLD)[number] {
  return (TOLD as readonly string[]).includes(code)
}

/** The message for one field of a form: that of a failure whose `param` is the field or lies within it. */
export function fieldError(error: unknown, field: string): string | null {
  if (error === null || error === undefined) return null
  const { param, message } = failureOf(error)
  if (param === null) return null
  return param === field || param.startsWith(`${field}.`) || param.startsWith(`${field}[`) ? message : null
}

/** Whether one of these fields shows the failure, so that the form need not. */
export function isShownBy(error: unknown, fields: readonly string[]): boolean {
  return fields.some((field) => fieldError(error, field) !== null)
}

/** The failure of a whole form: shown unless one of its fields shows it. */
export function FormError({ error, fields = [] }: { error: Failure | unknown; fields?: readonly string[] }) {
  return error === null || error === undefined || isShownBy(error, fields) ? null : <FailureNote error={error} />
}
