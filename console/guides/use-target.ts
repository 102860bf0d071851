import { useQuery } from '@tanstack/react-query'
import { useChatModels } from '../api/chat-models.ts'
import { useSite } from '../api/queries.ts'
import { request } from '../api/request.ts'
import type { Target } from './programs.ts'

/** This service and models of the reader's plan; those that every service begins with, where the plan has none. */
export function useTarget(): Target {
  const site = useSite().data
  const chat = useChatModels().data ?? []
  const video = useQuery({
    queryKey: ['video-models'],
    queryFn: ({ signal }) => request<{ data: Array<{ id: string }> }>('GET', '/v1/videos/models', { signal }),
    staleTime: 300_000,
  })
  const chat_model = chat[0]?.id ?? 'sandbox-1'
  return {
    base_url: site?.public_url ?? window.location.origin,
    chat_model,
    vision_model: chat.find(({ capabilities }) => capabilities.includes('vision'))?.id ?? chat_model,
    video_model: video.data?.data[0]?.id ?? 'storyboard-1',
  }
}
