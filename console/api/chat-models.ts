import { useQuery } from '@tanstack/react-query'
import type { Static } from 'typebox'
import type { ChatModelList, ChatModelView } from '../../server/catalog/schema.ts'
import { request } from './request.ts'
import { useVideoModels } from './video-models.ts'

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

/** The name of a model of the plan, for chat or videos, by its id; the id of any other. */
export function useModelNames(): (id: string) => string {
  const models = [...(useVideoModels().data ?? []), ...(useChatModels().data ?? [])]
  return (id) => models.find((model) => model.id === id)?.name ?? id
}
