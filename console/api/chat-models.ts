import { useQuery } from '@tanstack/react-query'
import type { Static } from 'typebox'
import type { ChatModelList, ChatModelView } from '../../server/catalog/schema.ts'
import { request } from './request.ts'

export type ChatModel = Static<typeof ChatModelView>

/** The chat models of the organization's plan. */
export function useChatModels() {
  return useQuery({
    queryKey: ['chat-models'],
    queryFn: ({ signal }) => request<Static<typeof ChatModelList>>('GET', '/v1/models', { signal }),
    select: ({ data }) => data,
    staleTime: 60_000,
  })
}
