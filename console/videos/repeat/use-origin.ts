import { useQuery } from '@tanstack/react-query'
import type { VideoOrigin } from '../../../server/console/schema.ts'
import { request } from '../../api/request.ts'

/** What a clip was made from, and the newest one made from it. Alone, since a file that is shared with more is loaded by other pages too. */
export function useOrigin(id: string): Pick<VideoOrigin, 'made_from' | 'followed_by'> {
  const { data } = useQuery({
    queryKey: ['videos', 'origin', id],
    queryFn: ({ signal }) =>
      request<VideoOrigin>('GET', `/console/videos/${encodeURIComponent(id)}/origin`, { signal }),
    staleTime: 0,
  })
  return data ?? { made_from: null, followed_by: null }
}
