import { useLocation, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { onEnded } from '../api/live.ts'
import { useSession } from '../api/session.ts'
import { withTexts } from '../text/languages.ts'
import { addUnseen, markSeen } from '../ui/unseen.ts'

/** Announces the person's jobs that have ended, on every page but that of the job, and counts them until they are looked at. */
export function useEndedVideos(): void {
  const router = useRouter()
  const { pathname } = useLocation()
  const { user, organization } = useSession()
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was announced to one person in one organization is nobody else's.
  useEffect(() => () => markSeen(), [user.id, organization.id])
  useEffect(
    () =>
      onEnded((videos) => {
        const elsewhere = videos.filter(({ id }) => document.hidden || router.state.location.pathname !== pageOf(id))
        if (elsewhere.length === 0) return
        addUnseen(elsewhere.map(({ id }) => id))
        // Without its code a clip is announced by the count alone.
        void withTexts('videos', import('../videos/job/announce.tsx')).then(
          ({ announce }) => void announce(elsewhere),
          () => {},
        )
      }),
    [router],
  )
  useEffect(() => {
    const look = () => {
      if (document.hidden) return
      if (pathname === '/videos') markSeen()
      const [, id] = /^\/videos\/([^/]+)$/.exec(pathname) ?? []
      if (id) markSeen([id])
    }
    look()
    const stop = onEnded(look)
    document.addEventListener('visibilitychange', look)
    return () => {
      stop()
      document.removeEventListener('visibilitychange', look)
    }
  }, [pathname])
}

function pageOf(id: string): string {
  return `/videos/${id}`
}
