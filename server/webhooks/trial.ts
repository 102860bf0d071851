import type { Context } from '../context.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { ApiError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { attempt } from './attempt.ts'
import { readEndpoint } from './endpoints.ts'
import type { EventType } from './event.ts'
import type { TestResult } from './schema.ts'

/** Trials of one organization that one process has under way. */
const TRIALS_MAX = 3

/**
 * Sends sample events at once, also to an endpoint that is disabled. They are not recorded, not repeated, and their object does not
 * exist. Throws ApiError `permission_denied`, `not_found`, or `rate_limit_exceeded` while others are under way.
 */
export function openTrials(): (
  ctx: Context,
  principal: Principal,
  trial: { id: string; event_type: EventType },
) => Promise<TestResult> {
  const active = new Map<string, number>()
  return async (ctx, principal, { id, event_type }) => {
    const endpoint = await readEndpoint(ctx, principal, id)
    const { org_id } = principal
    const others = active.get(org_id) ?? 0
    if (others >= TRIALS_MAX) {
      throw new ApiError('rate_limit_exceeded', 'Other test events are being sent. Please try again in 5s.', {
        retry_after_seconds: 5,
      })
    }
    active.set(org_id, others + 1)
    try {
      const now = ctx.clock.now()
      const event = {
        id: newId('event', now),
        type: event_type,
        subject_id: sampleId(event_type, org_id),
        created_at: now,
      }
      const { status_code, error } = await attempt(ctx, endpoint, event)
      return {
        object: 'webhook_endpoint.test',
        webhook_endpoint_id: id,
        event_type,
        status_code,
        success: error === null,
        error,
      }
    } finally {
      const left = active.get(org_id)! - 1
      if (left === 0) active.delete(org_id)
      else active.set(org_id, left)
    }
  }
}

function sampleId(event_type: EventType, org_id: string): string {
  if (event_type.startsWith('balance.')) return org_id
  return event_type.startsWith('video.') ? `video_${'0'.repeat(26)}` : `resp_${'0'.repeat(48)}`
}
