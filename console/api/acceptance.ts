import { type QueryClient, useQuery } from '@tanstack/react-query'
import type { Static } from 'typebox'
import type { AcceptanceView } from '../../server/videos/schema.ts'
import { request } from './request.ts'

export type Acceptance = Static<typeof AcceptanceView>

const ACCEPTANCE_KEY = ['video-acceptance'] as const

/** Whether the person has agreed to the video terms in force. */
export function useAcceptance() {
  return useQuery({
    queryKey: ACCEPTANCE_KEY,
    queryFn: ({ signal }) => request<Acceptance>('GET', '/v1/videos/acceptance', { signal }),
    staleTime: 300_000,
  })
}

/**
 * Agrees to one version of the terms. Rejects with `terms_version_mismatch` when that version is no longer in force; by then
 * `useAcceptance` returns the one that is.
 */
export async function agreeToTerms(queries: QueryClient, terms_version: string): Promise<void> {
  try {
    const agreed = await request<Acceptance>('POST', '/v1/videos/acceptance', { body: { terms_version } })
    queries.setQueryData(ACCEPTANCE_KEY, agreed)
  } catch (error) {
    await reloadAcceptance(queries)
    throw error
  }
}

export function reloadAcceptance(queries: QueryClient): Promise<void> {
  return queries.invalidateQueries({ queryKey: ACCEPTANCE_KEY })
}
