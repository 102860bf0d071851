import { useQuery } from '@tanstack/react-query'
import type { Static } from 'typebox'
import type { ChatModelList, ChatModelView } from '../../server/catalog/schema.ts'
import { request } from '../api/request.ts'
import type { AttachmentKind } from './conversation.ts'

export type ChatModel = Static<typeof ChatModelView>

/** The chat models of the organization's plan. */
export function useChatModels() {
  return useQuery({
    queryKey: ['chat', 'models'],
    queryFn: ({ signal }) => request<Static<typeof ChatModelList>>('GET', '/v1/models', { signal }),
    select: ({ data }) => data,
    staleTime: 60_000,
  })
}

/** What a model must be able to take for a kind of file; null for texts, which any model takes. */
export const NEEDED = {
  image: 'vision',
  pdf: 'vision',
  video: 'video',
  audio: 'audio',
  text: null,
} as const satisfies Record<AttachmentKind, string | null>

export function takes(model: ChatModel, kind: AttachmentKind): boolean {
  const needed = NEEDED[kind]
  return needed === null || model.capabilities.includes(needed)
}
