import { type ReactNode, useEffect } from 'react'
import { cx } from './class-names.ts'
import { useTitleFocus } from './title-focus.ts'
import { useUnseenCount } from './unseen.ts'

type HeaderProps = { title: string; description?: ReactNode; actions?: ReactNode; children?: ReactNode }

/** The page title, also in the browser's tab; takes the focus when the page opens. */
export function PageHeader({ title, description, actions, children }: HeaderProps) {
  usePageTitle(title)
  const heading = useTitleFocus()
  return (
    <header className="mb-6 flex flex-col gap-4">
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <h1 ref={heading} tabIndex={-1} data-page-title className="text-xl font-semibold tracking-tight">
            {title}
          </h1>
          {description && <p className="mt-1 max-w-2xl text-sm text-pretty text-muted">{description}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {children}
    </header>
  )
}

/** Names the browser's tab, after the number of what was announced and not looked at yet. */
export function usePageTitle(title: string): void {
  const unseen = useUnseenCount()
  useEffect(() => {
    document.title = `${unseen > 0 ? `(${unseen}) ` : ''}${title} · Kinora`
  }, [title, unseen])
}

/** A surface that groups related content. */
export function Card({
  title,
  description,
  actions,
  children,
  className,
  flush,
}: {
  title?: ReactNode
  description?: ReactNode
  actions?: ReactNode
  children?: ReactNode
  className?: string
  flush?: boolean
}) {
  return (
    <section className={cx('min-w-0 rounded-xl border border-line bg-surface shadow-raised', className)}>
      {(title || actions) && (
        <div className="flex flex-wrap items-start justify-between gap-3 px-5 pt-4">
          <div className="min-w-0">
            {title && <h2 className="text-sm font-semibold">{title}</h2>}
            {description && <p className="mt-0.5 text-[0.8125rem] text-pretty text-muted">{description}</p>}
          </div>
          {actions}
        </div>
      )}
      <div className={flush ? '' : 'px-5 py-4'}>{children}</div>
    </section>
  )
}

type EmptyProps = { icon?: ReactNode; title: string; children?: ReactNode; action?: ReactNode }

/** Says what will appear here and how to start. */
export function EmptyState({ icon, title, children, action }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-3 px-6 py-14 text-center">
      {icon && (
        <span
          aria-hidden
          className="grid size-11 place-items-center rounded-xl border border-line bg-sunken text-muted [&_svg]:size-5"
        >
          {icon}
        </span>
      )}
      <h2 className="text-base font-semibold">{title}</h2>
      {children && <div className="max-w-md text-sm text-pretty text-muted">{children}</div>}
      {action && <div className="mt-1 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  )
}

/** Placeholder in the size of what loads. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden className={cx('block animate-breathe rounded-md bg-line', className ?? 'h-4 w-full')} />
}
