import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { Compass } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { failureOf } from '../api/failure.ts'
import { useLive } from '../api/live.ts'
import { useText } from '../text/use-text.ts'
import { ButtonLink } from '../ui/button.tsx'
import { FailureNote } from '../ui/failure-note.tsx'
import { EmptyState, PageHeader, Skeleton } from '../ui/layout.tsx'
import mark from '../ui/mark.svg'

/** Placeholder for a page whose code is loading. */
export function PendingPage() {
  return (
    <div aria-hidden className="flex flex-col gap-6">
      <Skeleton className="h-7 w-48" />
      <Skeleton className="h-64 w-full rounded-xl" />
    </div>
  )
}

/** A page that failed to render: usually its code did not load, or a newer console was installed meanwhile. It is tried again once the service is back. */
export function BrokenPage({ error, reset }: ErrorComponentProps) {
  const t = useText('shell')
  const router = useRouter()
  const retry = () => {
    // A retry cannot load a chunk that no longer exists.
    if (failureOf(error).code === 'code_changed') return location.reload()
    reset()
    void router.invalidate()
  }
  const live = useLive()
  const wasLive = useRef(live)
  useEffect(() => {
    if (live && !wasLive.current) retry()
    wasLive.current = live
  })
  return (
    <>
      <PageHeader title={t('broken_title')} />
      <FailureNote error={error} onRetry={retry} />
    </>
  )
}

/** An unknown address opened from outside: there is no frame around it. */
export function LostPage() {
  const t = useText('shell')
  return (
    <main id="main" tabIndex={-1} className="mx-auto w-full max-w-2xl px-4 py-12 sm:px-6">
      <p className="mb-8 flex items-center gap-2.5 font-semibold tracking-tight">
        <img src={mark} alt="" width={28} height={28} />
        {t('brand')}
      </p>
      <MissingPage />
    </main>
  )
}

export function MissingPage() {
  const t = useText('shell')
  return (
    <>
      <PageHeader title={t('missing_title')} />
      <EmptyState
        icon={<Compass />}
        title={t('missing_question')}
        action={
          <ButtonLink to="/videos" variant="primary">
            {t('missing_home')}
          </ButtonLink>
        }
      />
    </>
  )
}
