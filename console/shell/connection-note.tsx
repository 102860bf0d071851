import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useLive } from '../api/live.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { Note } from '../ui/failure-note.tsx'

/** How often the service is asked whether it answers, once live events have ended. */
const ASK_MS = 3000

/** Says that the service does not answer, for as long as it does not. What failed to load meanwhile is then loaded again. */
export function ConnectionNote() {
  const t = useText('shell')
  const queries = useQueryClient()
  const lost = useLost(queries)
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

/** Live events alone may be missing: too many pages listen, or something on the way keeps them back. */
function useLost(queries: QueryClient): boolean {
  const live = useLive()
  const [lost, setLost] = useState(false)
  useEffect(() => {
    if (live) return setLost(false)
    const asking = setInterval(async () => {
      const answers = await request('GET', '/console/site').then(
        () => true,
        () => false,
      )
      setLost(!answers)
    }, ASK_MS)
    return () => clearInterval(asking)
  }, [live])
  useEffect(() => {
    if (!lost) void queries.refetchQueries({ predicate: ({ state }) => state.status === 'error' })
  }, [lost, queries])
  return lost
}
