import type { Meter, UsageCharge } from '../../billing/meter.ts'
import type { Context } from '../../context.ts'
import { writeGroupOrEach } from '../../platform/db/groups.ts'
import { failpoint } from '../../platform/failpoint.ts'
import type { ResponseEvent } from '../call.ts'
import type { ResponseObject } from '../schema/response.ts'
import { endResponse } from '../stored/store.ts'
import { insertEvents } from '../stored/store-events.ts'
import type { ClaimedResponse } from './claims.ts'
import { ClaimLost } from './record-events.ts'

/** How a run ended: the response, the events that say so, and what it used. */
export type RunEnd = {
  claimed: ClaimedResponse
  response: ResponseObject
  last: readonly ResponseEvent[]
  used: UsageCharge | null
}

/**
 * Ends a response. Status, items, last events, the charge and what they show as used stand or fall together, in a commit that is shared
 * with other runs that end at that moment. Throws ClaimLost when another worker has it or it ended.
 */
export function endRun(ctx: Pick<Context, 'db' | 'clock' | 'groups'>, meter: Meter, end: RunEnd): Promise<void> {
  return ctx.groups.join('response-ends', end, (ends) => writeGroupOrEach(ends, (some) => writeEnds(ctx, meter, some)))
}

async function writeEnds(
  ctx: Pick<Context, 'db' | 'clock'>,
  meter: Meter,
  ends: readonly RunEnd[],
): Promise<Array<undefined | ClaimLost>> {
  const now = ctx.clock.now()
  const results: Array<undefined | ClaimLost> = []
  const announce = await ctx.db.transaction().execute(async (tx) => {
    const used: UsageCharge[] = []
    for (const { claimed, response, last, used: usage } of ends) {
      if (!(await endResponse(tx, claimed, { response, now }))) {
        results.push(new ClaimLost('another worker has this response'))
        continue
      }
      const events = last.map(({ data }) => data)
      await insertEvents(tx, claimed.id, { first_number: last[0]!.sequence_number, events })
      if (usage) used.push(usage)
      results.push(undefined)
      failpoint('within_response_end')
    }
    return meter.chargeWithin(tx, used)
  })
  announce()
  return results
}
