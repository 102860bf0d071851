import type { ReactNode } from 'react'
import { cx } from '../ui/class-names.ts'
import { Skeleton } from '../ui/layout.tsx'

type SectionProps = { title: string; description: ReactNode; children: ReactNode }

/** One group of settings: its title and description at the side, then the settings. */
export function Section({ title, description, children }: SectionProps) {
  return (
    <section
      aria-label={title}
      className="grid gap-x-10 gap-y-3 border-t border-line py-7 first:border-t-0 first:pt-0 lg:grid-cols-[17rem_minmax(0,1fr)]"
    >
      <div className="min-w-0">
        <h2 className="text-sm font-semibold">{title}</h2>
        <p className="mt-1 max-w-prose text-[0.8125rem] text-pretty text-muted">{description}</p>
      </div>
      <div className="min-w-0 rounded-xl border border-line bg-surface p-5 shadow-raised">{children}</div>
    </section>
  )
}

/** Placeholder for a line of text and a button. */
export function LineSkeleton({ className = 'h-9' }: { className?: string }) {
  return (
    <div className={cx('flex items-center justify-between gap-4', className)}>
      <Skeleton className="h-4 w-48" />
      <Skeleton className="h-9 w-28 rounded-lg" />
    </div>
  )
}

/** Placeholder for a form with two fields and a button. */
export function FormSkeleton({ className }: { className: string }) {
  return (
    <div className={cx('flex flex-col justify-between', className)}>
      <Skeleton className="h-14 max-w-md" />
      <Skeleton className="h-20 max-w-md" />
      <Skeleton className="h-9 w-28 rounded-lg" />
    </div>
  )
}
