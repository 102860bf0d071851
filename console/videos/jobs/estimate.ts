import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { EstimateView } from '../../../server/console/schema.ts'
import { request } from '../../api/request.ts'
import { useText } from '../../text/use-text.ts'
import type { VideoJob } from './job.ts'

/** How long a video like this one is likely to take, in words; null while too few have been made to know. */
export function useEstimateText(video: Pick<VideoJob, 'seconds' | 'aspect_ratio'> & { model: string | null }) {
  const t = useText('videos')
  const { model, seconds, aspect_ratio } = video
  const { data } = useQuery({
    queryKey: ['estimate', model, seconds, aspect_ratio],
    queryFn: ({ signal }) =>
      request<EstimateView>('GET', '/console/estimate', { query: { model, seconds, aspect_ratio }, signal }),
    enabled: model !== null,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  })
  if (!data?.total_seconds) return null
  const inWords = (n: number) =>
    n < 100 ? t('estimate.seconds', { n: Math.max(1, n) }) : t('estimate.minutes', { n: Math.round(n / 60) })
  const { total_seconds } = data
  const [typical, low, high] = [total_seconds.typical, total_seconds.low, total_seconds.high].map(inWords) as [
    string,
    string,
    string,
  ]
  const total = low === high ? t('estimate.total_alike', { typical }) : t('estimate.total', { typical, low, high })
  const waiting = data.waiting_seconds?.typical ?? 0
  return waiting === 0 ? total : `${total} ${t('estimate.waiting', { typical: inWords(waiting) })}`
}
