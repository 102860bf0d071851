import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { DeliveryView, EndpointView } from '../../server/webhooks/schema.ts'
import { request } from '../api/request.ts'

export type WebhookEndpoint = EndpointView
export type Delivery = DeliveryView
export type EventType = EndpointView['event_types'][number]

export const ENDPOINTS = ['webhook_endpoints'] as const
export const PATH = '/v1/webhook_endpoints'

/** Events by what they are about, in the order of the form. */
export const EVENT_GROUPS = {
  video: ['video.completed', 'video.failed', 'video.canceled'],
  response: ['response.completed', 'response.failed', 'response.incomplete', 'response.cancelled'],
  balance: ['balance.low', 'balance.empty'],
} as const satisfies Record<string, readonly EventType[]>

export function useEndpoint(id: string) {
  return useQuery({
    queryKey: [...ENDPOINTS, id],
    queryFn: ({ signal }) => request<WebhookEndpoint>('GET', `${PATH}/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: 10_000,
  })
}

/** Reads endpoints and deliveries again. */
export function useRefresh(): () => Promise<void> {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: ENDPOINTS })
}
