import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { failureOf } from '../api/failure.ts'
import { request } from '../api/request.ts'
import { beginSession, type Session } from '../api/session.ts'
import { keepInvitation } from './invitation-token.ts'

/** Accepts the invitation and opens the new organization. */
export function useAccept(token: string) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: (own: { name?: string; password?: string }) =>
      request<Session>('POST', '/console/invitations/accept', { body: { token, ...own } }),
    onSuccess: async (begun) => {
      keepInvitation(null)
      beginSession(queries, begun)
      await navigate({ to: '/videos', replace: true })
    },
    // It may have been used or withdrawn, or its address may have an account by now: the preview shows which.
    onError: (error) => {
      const { code } = failureOf(error)
      if (code === 'not_found' || code === 'conflict')
        void queries.invalidateQueries({ queryKey: ['site', 'invitation'] })
    },
  })
}
