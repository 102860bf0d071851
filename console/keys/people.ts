import type { Member } from '../../server/identity/schema.ts'
import { usePagedList } from '../api/queries.ts'
import { useSession } from '../api/session.ts'
import { useText } from '../text/use-text.ts'

/** Names of the people of this organization by their ids; those of the list of members only where the reader may see it. */
export function usePeople(isManager: boolean): (user_id: string) => string {
  const t = useText('keys')
  const { user } = useSession()
  const { rows } = usePagedList<Member>(['members'], '/console/members', { limit: 100 }, { enabled: isManager })
  return (user_id) => {
    if (user_id === user.id) return t('you')
    if (rows === null) return ''
    const member = rows.find((each) => each.user_id === user_id)
    return member ? member.name || member.email : t('removed_person')
  }
}
