import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { readStored } from '../api/personal-storage.ts'
import { useSession } from '../api/session.ts'

const LOOK_MS = 15_000

/** Sends the videos that wait in this browser, on every page: the videos page does so itself. */
export function useWaitingVideos(): void {
  const queries = useQueryClient()
  const { user, organization } = useSession()
  const [user_id, organization_id] = [user.id, organization.id]
  const isElsewhere = useLocation().pathname !== '/videos'
  useEffect(() => {
    if (!isElsewhere) return
    let stop: (() => void) | null = null
    let isStarted = false
    let isClosed = false
    const look = () => {
      const waiting = readStored(`waiting.${user_id}.${organization_id}`)
      if (isStarted || !Array.isArray(waiting) || waiting.length === 0) return
      isStarted = true
      import('../videos/waiting/send.ts').then(
        ({ sendAsSlotsComeFree }) => {
          if (!isClosed) stop = sendAsSlotsComeFree(queries, { user_id, organization_id })
        },
        () => {
          isStarted = false
        },
      )
    }
    look()
    // A request of a page that was closed may be added later, or another tab adds one.
    const timer = setInterval(look, LOOK_MS)
    addEventListener('storage', look)
    return () => {
      isClosed = true
      clearInterval(timer)
      removeEventListener('storage', look)
      stop?.()
    }
  }, [queries, user_id, organization_id, isElsewhere])
}
