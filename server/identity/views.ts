import { unixSeconds } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { sessionEnd } from './caller/authenticate.ts'
import type { KeyFacts } from './keys/api-keys.ts'
import { findSessionEnd, type SessionRow } from './login/store.ts'
import { findUser, organizationsOf, type UserRow } from './people/store.ts'
import type { InvitationRow, MemberFacts } from './people/store-members.ts'
import type { ApiKey, ConsoleSession, Invitation, InvitationPreview, LoginSession, Member, Profile } from './schema.ts'

export function keyView(row: KeyFacts): ApiKey {
  return {
    id: row.id,
    object: 'api_key',
    name: row.name,
    hint: row.hint,
    created_at: unixSeconds(row.created_at),
    last_used_at: row.last_used_at && unixSeconds(row.last_used_at),
    user_id: row.user_id,
  }
}

export function memberView(member: MemberFacts): Member {
  const { id, email, name, role, created_at } = member
  return { id, object: 'member', user_id: id, email, name, role, created_at: unixSeconds(created_at) }
}

export function invitationView(row: InvitationRow): Invitation {
  return {
    id: row.id,
    object: 'invitation',
    email: row.email,
    role: row.role,
    status: row.status,
    invited_by: row.inviter_id,
    created_at: unixSeconds(row.created_at),
    expires_at: unixSeconds(row.expires_at),
  }
}

export function invitationPreview(
  invitation: InvitationRow & { org_name: string; has_account: boolean },
): InvitationPreview {
  const { org_name, email, role, expires_at, has_account } = invitation
  return {
    object: 'invitation_preview',
    organization: { name: org_name },
    ...{ email, role, expires_at: unixSeconds(expires_at), has_account },
  }
}

export function profileView(user: UserRow, logins: ReadonlyArray<{ password: string | null }>): Profile {
  const { id, email, name, two_factor_enabled: two_factor } = user
  const password = logins.some((each) => each.password !== null)
  const oidc = logins.some((each) => each.password === null)
  return { object: 'profile', id, email, name, password, oidc, two_factor }
}

export function loginSessionView(row: Omit<SessionRow, 'token'>, current_id: string | null): LoginSession {
  return {
    id: row.id,
    object: 'login_session',
    current: row.id === current_id,
    organization_id: row.org_id,
    user_agent: row.user_agent || null,
    created_at: unixSeconds(row.created_at),
    last_used_at: unixSeconds(row.updated_at),
    expires_at: unixSeconds(sessionEnd({ last_use: row.updated_at, expires_at: row.expires_at })),
  }
}

/** What the console shows of a session that was used just now. Null when it has ended meanwhile. */
export async function sessionView(
  db: Db,
  session: { session_id: string; user_id: string; org_id: string; now: Date },
): Promise<ConsoleSession | null> {
  const [user, organizations, end] = await Promise.all([
    findUser(db, session.user_id),
    organizationsOf(db, session.user_id),
    findSessionEnd(db, session.session_id),
  ])
  const organization = organizations.find(({ id }) => id === session.org_id)
  if (!user || !organization || !end) return null
  return {
    object: 'console_session',
    user: { id: user.id, email: user.email, name: user.name },
    organization,
    organizations,
    expires_at: unixSeconds(sessionEnd({ last_use: session.now, expires_at: end })),
  }
}
