import type { Clock } from '../../platform/clock.ts'
import { addSeconds } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { freshCache } from '../../platform/fresh-cache.ts'
import type { Log } from '../../platform/log.ts'
import { hashKey, isKey } from '../keys/format.ts'
import { findKeyOwner, findStanding, noteKeyUse } from '../keys/store.ts'
import { findSessionOwner, noteSessionUse } from '../login/store.ts'
import { hashToken, hasSessionCookie, readSessionToken, SESSION_IDLE_SECONDS, type SessionCookie } from './cookie.ts'
import type { Authenticator, Principal } from './principal.ts'

/** Longest a revoked key, an ended session or a former member can still call, when no notice arrives. Source: I27. */
const CALLER_TTL_MS = 5000
/** Callers kept in memory, of each kind: about 10 MB at most. */
const CALLERS_MAX = 20_000
/** Use of keys and sessions is noted to this precision. */
const USE_SECONDS = 60

export type Callers = Authenticator & {
  /** Forgets the callers a notice names: `key:<id>`, `session:<id>`, `user:<id>` or `org:<id>`. */
  forget(notice: string): void
  forgetAll(): void
  /** Calls `listener` with every such notice, with null when notices may have been missed. Returns a function that stops it. */
  onForget(listener: (notice: string | null) => void): () => void
  /** Writes the last use of the keys that have called. */
  noteUse(): Promise<void>
}

type SessionCaller = { principal: Principal; last_use: Date; expires_at: Date }

/** Finds callers, in memory first. `cookie` is asked at each use: the public URL is complete only once the service listens. */
export function openCallers(deps: {
  db: Db
  clock: Clock
  log: Log
  cookie: () => SessionCookie
  monotonic: () => number
}): Callers {
  const { db, clock } = deps
  const limits = { ttl_ms: CALLER_TTL_MS, entries_max: CALLERS_MAX, now_ms: deps.monotonic }
  const keys = freshCache<Principal>(limits)
  const sessions = freshCache<SessionCaller>(limits)
  const uses = new Map<string, Date>()
  const listeners = new Set<(notice: string | null) => void>()

  return {
    async api_key(authorization) {
      const key = bearerOf(authorization)
      if (key === null || !isKey(key)) throw wrongKey()
      const key_hash = hashKey(key)
      const principal = await keys.find(key_hash, () => loadKey(db, key_hash))
      if (!principal) throw wrongKey()
      uses.set(principal.key_id!, clock.now())
      return principal
    },
    recall(authorization) {
      const key = bearerOf(authorization)
      if (key === null) return null
      const principal = keys.recall(hashKey(key))
      if (principal) uses.set(principal.key_id!, clock.now())
      return principal
    },
    async session(headers) {
      const token = readSessionToken(headers.cookie, deps.cookie())
      if (token === null) return null
      const token_hash = hashToken(token)
      const caller = await sessions.find(token_hash, () => loadSession(db, token_hash))
      const now = clock.now()
      if (!caller || sessionEnd(caller) <= now) return null
      if (addSeconds(caller.last_use, USE_SECONDS) <= now) {
        caller.last_use = now
        await noteSessionUse(db, { id: caller.principal.session_id!, now })
      }
      return caller.principal
    },
    hasSession: (headers) => hasSessionCookie(headers.cookie, deps.cookie()),
    forget(notice) {
      const [kind, id] = [notice.slice(0, notice.indexOf(':')), notice.slice(notice.indexOf(':') + 1)]
      if (kind !== 'session') keys.drop((principal) => isNamed(principal, kind, id))
      if (kind !== 'key') sessions.drop(({ principal }) => isNamed(principal, kind, id))
      for (const listener of listeners) listener(notice)
    },
    forgetAll() {
      keys.clear()
      sessions.clear()
      for (const listener of listeners) listener(null)
    },
    onForget(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async noteUse() {
      const noted = new Map(uses)
      uses.clear()
      await noteKeyUse(db, noted).catch((error: unknown) =>
        deps.log.warn('key_use_not_noted', { count: noted.size, error }),
      )
    },
  }
}

/** When a session ends if it is not used again. */
export function sessionEnd(session: { last_use: Date; expires_at: Date }): Date {
  const idle = addSeconds(session.last_use, SESSION_IDLE_SECONDS)
  return new Date(Math.min(idle.getTime(), session.expires_at.getTime()))
}

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
    throw new ApiError('permission_denied', 'The person who asked for this is no longer a member of the organization.')
  throw new ApiError(
    'invalid_api_key',
    'The API key that asked for this was revoked, or its owner is no longer a member of the organization.',
  )
}

function bearerOf(authorization: string): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? null
}

/** One text for every invalid key, so that an answer reveals nothing about other keys. */
function wrongKey(): ApiError {
  return new ApiError(
    'invalid_api_key',
    "Incorrect API key provided. Send 'Authorization: Bearer <key>' with a key made in the console under API keys.",
  )
}

async function loadKey(db: Db, key_hash: string): Promise<Principal | null> {
  const owner = await findKeyOwner(db, Buffer.from(key_hash, 'hex'))
  if (!owner) return null
  const { id, ...who } = owner
  return Object.freeze({ ...who, via: 'api_key' as const, key_id: id, session_id: null })
}

async function loadSession(db: Db, token_hash: string): Promise<SessionCaller | null> {
  const owner = await findSessionOwner(db, token_hash)
  if (!owner) return null
  const { id, updated_at, expires_at, ...who } = owner
  const principal = Object.freeze({ ...who, via: 'session' as const, key_id: null, session_id: id })
  return { principal, last_use: updated_at, expires_at }
}

function isNamed(principal: Principal, kind: string, id: string): boolean {
  if (kind === 'key') return principal.key_id === id
  if (kind === 'session') return principal.session_id === id
  if (kind === 'user') return principal.user_id === id
  return kind === 'org' && principal.org_id === id
}
