import type { ReactNode } from 'react'
import { cx } from '../class-names.ts'

export type Tone = 'neutral' | 'accent' | 'success' | 'warning' | 'danger'

const TONES: Record<Tone, string> = {
  neutral: 'bg-sunken text-muted border-line',
  accent: 'bg-accent-soft text-accent border-transparent',
  success: 'bg-success-soft text-success border-transparent',
  warning: 'bg-warning-soft text-warning border-transparent',
  danger: 'bg-danger-soft text-danger border-transparent',
}

export function Badge({
  tone = 'neutral',
  children,
  className,
}: {
  tone?: Tone
  children: ReactNode
  className?: string
}) {
  return (
    <span
      className={cx(
        'inline-flex h-5.5 shrink-0 items-center gap-1.5 rounded-full border px-2 text-xs font-medium whitespace-nowrap',
        TONES[tone],
        className,
      )}
    >
      {children}
    </span>
  )
}

/** A status, never shown by color alone. `live` pulses while it lasts. */
export function StatusBadge({ tone, children, live }: { tone: Tone; children: ReactNode; live?: boolean }) {
  return (
    <Badge tone={tone}>
      <span aria-hidden className={cx('size-1.5 rounded-full bg-current', live && 'animate-breathe')} />
      {children}
    </Badge>
  )
}

/** The first letter of a name, for a person or an organization. */
export function Avatar({ name, square, className }: { name: string; square?: boolean; className?: string }) {
  const [letter = '?'] = name.trim()
  return (
    <span
      aria-hidden
      className={cx(
        'grid size-7 shrink-0 place-items-center bg-accent-soft text-xs font-semibold text-accent uppercase',
        square ? 'rounded-md' : 'rounded-full',
        className,
      )}
    >
      {letter}
    </span>
  )
}
