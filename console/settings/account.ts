import { type QueryClient, useQuery } from '@tanstack/react-query'
import type { Static } from 'typebox'
import type { Profile, RecoveryCodes, TwoFactor, TwoFactorEnrolment } from '../../server/identity/schema.ts'
import { failureOf } from '../api/failure.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { useFieldError } from '../ui/failure-text.ts'

export type { Profile }
export type TwoFactorState = Static<typeof TwoFactor>
export type Enrollment = Static<typeof TwoFactorEnrolment>
export type NewRecoveryCodes = Static<typeof RecoveryCodes>

export const PROFILE_KEY = ['profile'] as const
const TWO_FACTOR_KEY = ['two_factor'] as const
export const SESSIONS_KEY = ['sessions'] as const

export function useProfile() {
  return useQuery({
    queryKey: PROFILE_KEY,
    queryFn: ({ signal }) => request<Profile>('GET', '/console/profile', { signal }),
  })
}

export function useTwoFactor() {
  return useQuery({
    queryKey: TWO_FACTOR_KEY,
    queryFn: ({ signal }) => request<TwoFactorState>('GET', '/console/two_factor', { signal }),
  })
}

/** Reloads everything but session and site after the way of signing in changed: requests in between may have been refused. */
export function reloadAccount(queries: QueryClient): Promise<void> {
  return queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' && queryKey[0] !== 'site' })
}

/** The error text of one field that proves who the person is: a wrong password, or a code that is wrong or used. */
export function useProofError(error: unknown): (field: 'password' | 'current_password' | 'code') => string | null {
  const t = useText('settings')
  const errorOf = useFieldError(error)
  return (field) => {
    const names = field === 'code' ? ['code', 'recovery_code'] : [field]
    const text = names.map(errorOf).find((each) => each !== null)
    if (text === undefined) return null
    if (failureOf(error).code !== 'invalid_api_key') return text ?? null
    return t(field === 'code' ? 'wrong_code' : 'wrong_password')
  }
}

/** The fields whose errors `useProofError` shows, for `FormError`. */
export const PROOF_FIELDS = ['password', 'current_password', 'new_password', 'code', 'recovery_code'] as const
