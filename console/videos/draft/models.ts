import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Static } from 'typebox'
import type { VideoModelView } from '../../../server/videos/schema.ts'
import { request } from '../../api/request.ts'
import type { Slot } from './attachments.ts'

export type VideoModel = Static<typeof VideoModelView>

/** The models of the plan, as the API lists them. */
export function useVideoModels() {
  return useQuery({
    queryKey: ['video-models'],
    queryFn: ({ signal }) => request<{ data: VideoModel[] }>('GET', '/v1/videos/models', { signal }),
    staleTime: 300_000,
    select: ({ data }) => data,
    placeholderData: keepPreviousData,
  })
}

/** Whether a model accepts files in this slot. */
export function accepts(model: VideoModel | null, slot: Slot): boolean {
  return !model?.inputs || model.inputs.includes(INPUT_OF[slot])
}

/** The entry of a model's `inputs` for each slot. */
const INPUT_OF = {
  first_frame: 'first_frame',
  last_frame: 'last_frame',
  images: 'reference_images',
  videos: 'reference_videos',
  audio: 'reference_audio',
} as const satisfies Record<Slot, string>
