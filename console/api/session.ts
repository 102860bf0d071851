import { type QueryClient, useMutation, useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import type { Maker } from '../../server/console/schema.ts'
import type { ConsoleSession, OrganizationSettings } from '../../server/identity/schema.ts'
import { failureOf } from './failure.ts'
import { clearPersonalStorage, readStored, removeStored, store } from './personal-storage.ts'
import { RENEWS_SESSION } from './queries.ts'
import { request } from './request.ts'

export type Session = ConsoleSession
export type Role = Session['organization']['role']

export const SESSION_KEY = ['session'] as const

/** The current session; null when nobody is signed in. */
export async function readSession(queries: QueryClient): Promise<Session | null> {
  return queries.ensureQueryData({ queryKey: SESSION_KEY, queryFn: fetchSession, staleTime: Number.POSITIVE_INFINITY })
}

const SIGNED_IN = 'signed-in'

/** Whether this browser had a session that was not ended by signing out. */
export function wasSignedIn(): boolean {
  return readStored(SIGNED_IN) === true
}

/** A missing session no longer counts as one that has ended. */
export function forgetSignedIn(): void {
  removeStored((name) => name === SIGNED_IN)
}

async function fetchSession(): Promise<Session | null> {
  try {
    const session = await request<Session>('GET', '/console/session')
    store(SIGNED_IN, true)
    return session
  } catch (error) {
    if (failureOf(error).status === 401) return null
    throw error
  }
}

/** The person who is signed in, on pages that need one. */
export function useSession(): Session {
  const { data } = useSuspenseQuery({
    queryKey: SESSION_KEY,
    queryFn: fetchSession,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (data === null) throw new Error('Nobody is signed in.')
  return data
}

/** Whether the person may manage members and see everybody's keys. */
export function useIsManager(): boolean {
  return useSession().organization.role !== 'member'
}

export const ORGANIZATION_KEY = ['organization'] as const

/** What the organization has set for its people. */
export function useOrganization() {
  return useQuery({
    queryKey: ORGANIZATION_KEY,
    queryFn: ({ signal }) => request<OrganizationSettings>('GET', '/console/organization', { signal }),
  })
}

/** Whether the person may delete what this maker has made. */
export function useMayDelete(): (maker: Maker | undefined) => boolean {
  const { user, organization } = useSession()
  const { data } = useOrganization()
  return (maker) =>
    organization.role !== 'member' ||
    data?.members_delete === 'all' ||
    (data !== undefined && maker?.user_id === user.id)
}

/** The organization that is shown now; null when nobody is signed in. An answer may come after the person switched to another. */
export function shownOrganization(queries: QueryClient): string | null {
  return queries.getQueryData<Session | null>(SESSION_KEY)?.organization.id ?? null
}

/** Switches to a new session and drops everything cached for the previous person or organization. */
export function beginSession(queries: QueryClient, session: Session): void {
  store(SIGNED_IN, true)
  queries.setQueryData(SESSION_KEY, session)
  void queries.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' && queryKey[0] !== 'site' })
}

/** Checks whether the session has ended, or another tab has switched its organization or signed in somebody else, and follows. */
export async function followSession(queries: QueryClient): Promise<void> {
  const shown = queries.getQueryData<Session | null>(SESSION_KEY)
  const session = await fetchSession().catch(() => undefined)
  if (session === undefined || queries.isMutating({ mutationKey: RENEWS_SESSION }) > 0) return
  // This tab has switched or signed out meanwhile: the answer may be from before.
  if (queries.getQueryData(SESSION_KEY) !== shown) return
  // The 401 of this query leads to the sign-in page, as any 401 does.
  if (session === null) return queries.invalidateQueries({ queryKey: ['balance'] })
  if (shown?.user.id === session.user.id && shown.organization.id === session.organization.id)
    queries.setQueryData(SESSION_KEY, session)
  else beginSession(queries, session)
}

/** Drops the session and everything cached for it. */
export function endSession(queries: QueryClient): void {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'site' })
  queries.setQueryData(SESSION_KEY, null)
}

export function useSwitchOrganization() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (organization_id: string) =>
      request<Session>('POST', '/console/session/organization', { body: { organization_id } }),
    onSuccess: (session) => beginSession(queries, session),
  })
}

export function useSignOut() {
  return useMutation({ mutationFn: () => request('POST', '/console/auth/sign-out'), onSuccess: clearPersonalStorage })
}
