import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useLive } from '../api/live.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { Note } from '../ui/failure-note.tsx'

/** How often the service is asked whether it answers, while live events are missing. */
const ASK_MS = 3000

/** Says that the service does not answer, for as long as it does not. What failed to load meanwhile is then loaded again. */
export function ConnectionNote() {
  const t = useText('shell')
  const queries = useQueryClient()
  const lost = useLost()
  useEffect(() => {
    if (!lost) return
    return () => void queries.refetchQueries({ predicate: ({ state }) => state.status === 'error' })
  }, [lost, queries])
  return (
    <div role="status" className="empty:hidden">
      {lost && (
        <div className="mb-5">
          <Note tone="warning">{t('connection_lost')}</Note>
        </div>
      )}
    </div>
  )
}

/** Missing live events alone say little: too many pages may listen, or a proxy may hold them back. */
function useLost(): boolean {
  const live = useLive()
  const [lost, setLost] = useState(false)
  useEffect(() => {
    if (live) return
    let isOver = false
    const ask = () =>
      request('GET', '/console/site').then(
        () => !isOver && setLost(false),
        () => !isOver && setLost(true),
      )
    const timer = setInterval(ask, ASK_MS)
    return () => {
      isOver = true
      clearInterval(timer)
      setLost(false)
    }
  }, [live])
  return lost
}
