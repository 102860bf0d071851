import { useQuery } from '@tanstack/react-query'
import type { Static } from 'typebox'
import type { VideoModelView } from '../../server/videos/schema.ts'
import { request } from './request.ts'

export type VideoModel = Static<typeof VideoModelView>

/** The video models of the organization's plan. */
export function useVideoModels() {
  return useQuery({
    queryKey: ['video-models'],
    queryFn: ({ signal }) => request<{ data: VideoModel[] }>('GET', '/v1/videos/models', { signal }),
    staleTime: 300_000,
    select: ({ data }) => data,
  })
}
