import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { readStored } from '../api/personal-storage.ts'
import { useSession } from '../api/session.ts'

/** Sends the videos that wait in this browser, on every page: the videos page does so itself. */
export function useWaitingVideos(): void {
  const queries = useQueryClient()
  const { user, organization } = useSession()
  const [user_id, organization_id] = [user.id, organization.id]
  const isElsewhere = useLocation().pathname !== '/videos'
  useEffect(() => {
    const waiting = readStored(`waiting.${user_id}.${organization_id}`)
    if (!isElsewhere || !Array.isArray(waiting) || waiting.length === 0) return
    let stop: (() => void) | null = null
    const left = new AbortController()
    import('../videos/waiting/send.ts').then(
      ({ sendAsSlotsComeFree }) => {
        if (!left.signal.aborted) stop = sendAsSlotsComeFree(queries, { user_id, organization_id })
      },
      () => {},
    )
    return () => {
      left.abort()
      stop?.()
    }
  }, [queries, user_id, organization_id, isElsewhere])
}
