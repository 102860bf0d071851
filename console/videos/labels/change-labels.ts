import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ChangeLabels, LabelsList, TagList } from '../../../server/videos/labels/schema.ts'
import { request } from '../../api/request.ts'
import { useFailureTexts } from '../../ui/failure-text.ts'
import { toast } from '../../ui/overlay/toast.ts'
import { refreshFiltered } from '../jobs/job-cache.ts'

/** Changes labels of videos, one change after another, wherever they are shown, and announces what failed. */
export function useChangeLabels() {
  const queries = useQueryClient()
  const textOf = useFailureTexts()
  return useMutation({
    scope: { id: 'video-labels' },
    mutationFn: (change: ChangeLabels) => request<LabelsList>('PATCH', '/console/videos/labels', { body: change }),
    onSuccess: ({ data }) => applyLabels(queries, data),
    onError: (error) => toast(textOf(error), 'danger'),
  })
}

function applyLabels(queries: QueryClient, labels: LabelsList['data']): void {
  const changed = new Map(labels.map((each) => [each.id, each]))
  queries.setQueriesData<LabelsList>(
    { queryKey: ['video-labels'] },
    (list) => list && { ...list, data: list.data.map((each) => changed.get(each.id) ?? each) },
  )
  void queries.invalidateQueries({ queryKey: ['video-tags'] })
  refreshFiltered(queries)
}

/** Tags of the organization's videos, the most used first. */
export function useTags(enabled = true): readonly string[] {
  const { data } = useQuery({
    queryKey: ['video-tags'],
    queryFn: ({ signal }) => request<TagList>('GET', '/console/videos/tags', { signal }),
    enabled,
  })
  return data?.data.map(({ id }) => id) ?? []
}
