import { useQuery } from '@tanstack/react-query'
import type { Maker, MakerList } from '../../server/console/schema.ts'
import type { OrganizationSettings } from '../../server/identity/schema.ts'
import { request } from './request.ts'
import { useSession } from './session.ts'

export const ORGANIZATION_KEY = ['organization'] as const

/** What the organization has set for its people. */
export function useOrganization() {
  return useQuery({
    queryKey: ORGANIZATION_KEY,
    queryFn: ({ signal }) => request<OrganizationSettings>('GET', '/console/organization', { signal }),
  })
}

/** Who made these videos and files, by their ids, as far as it is known. */
export function useMakers(ids: readonly string[]): ReadonlyMap<string, Maker> {
  const { data } = useQuery({
    queryKey: ['makers', ...ids],
    queryFn: ({ signal }) => request<MakerList>('GET', '/console/makers', { query: { ids: ids.join() }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => before,
    enabled: ids.length > 0,
  })
  return new Map(data?.data.map((maker) => [maker.id, maker]))
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
