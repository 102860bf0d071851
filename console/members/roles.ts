import type { Role } from '../api/session.ts'
import { useText } from '../text/use-text.ts'

/** The roles that this person may give: only owners make owners. */
export function useRoleOptions(own: Role): Array<{ value: Role; label: string }> {
  const nameOf = useRoleNames()
  const roles: Role[] = own === 'owner' ? ['owner', 'admin', 'member'] : ['admin', 'member']
  return roles.map((value) => ({ value, label: nameOf(value) }))
}

export function useRoleNames(): (role: Role) => string {
  const t = useText('members')
  const names = { owner: t('role_owner'), admin: t('role_admin'), member: t('role_member') }
  return (role) => names[role]
}

/** What a role may do, in a sentence. */
export function useRoleHints(): (role: Role) => string {
  const t = useText('members')
  const hints = { owner: t('role_owner_hint'), admin: t('role_admin_hint'), member: t('role_member_hint') }
  return (role) => hints[role]
}
