import type { Db } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { findStanding } from '../keys/store.ts'
import type { Principal } from './principal.ts'

/**
 * The person who asked for work that waited in a queue, with the role and plan of today. `key_id` is null for a console login.
 * Throws ApiError `invalid_api_key` when the key was revoked or its owner is no longer a member, and `permission_denied` when the
 * person of a console login is no longer one.
 */
export async function recheckPrincipal(
  db: Db,
  caller: Pick<Principal, 'org_id' | 'user_id' | 'key_id'>,
): Promise<Principal> {
  const { org_id, user_id, key_id } = caller
  const found = await findStanding(db, { org_id, user_id, key_id })
  if (found)
    return { org_id, user_id, key_id, ...found, session_id: null, via: key_id === null ? 'session' : 'api_key' }
  if (key_id === null)
    throw new ApiError('permission_denied', 'Whoever asked for this is no longer a member of the organization.')
  throw new ApiError(
    'invalid_api_key',
    'The API key that asked for this was revoked, or its owner is no longer a member of the organization.',
  )
}
