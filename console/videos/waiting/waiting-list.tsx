import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect } from 'react'
import { withTexts } from '../../text/languages.ts'
import { useAccount, useWaiting } from './list.ts'
import { sendAsSlotsComeFree } from './send.ts'

const WaitingRows = lazy(() =>
  withTexts('videos/waiting', import('./waiting-rows.tsx')).then((module) => ({ default: module.WaitingRows })),
)

/** What waits in this browser until the plan has slots for it, and is sent from here; nothing where nothing waits. */
export function WaitingList() {
  const queries = useQueryClient()
  const account = useAccount()
  const { user_id, organization_id } = account
  const list = useWaiting(account)
  useEffect(() => sendAsSlotsComeFree(queries, { user_id, organization_id }), [queries, user_id, organization_id])
  return <Suspense>{list.length > 0 && <WaitingRows {...{ account, list }} />}</Suspense>
}
