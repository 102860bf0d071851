import type { Meter, UsageCharge } from '../../billing/meter.ts'
import type { Context } from '../../context.ts'
import { writeGroupOrEach } from '../../platform/db/groups.ts'
import { failpoint } from '../../platform/failpoint.ts'
import type { ResponseEvent } from '../events/event.ts'
import type { ResponseObject } from '../schema/response.ts'
import { recordEnds } from '../stored/ends.ts'
import { endResponse } from '../stored/store/end.ts'
import type { ClaimedResponse } from './claims.ts'
import { ClaimLost } from './event-recorder.ts'

/** A run that is over: the response, its last events, and its usage. */
export type FinishedRun = {
  claimed: ClaimedResponse
  response: ResponseObject
  last: readonly ResponseEvent[]
  used: UsageCharge | null
}

/**
 * Ends a response: status, output, last events, charge, usage and the event of its end in one transaction, in a commit shared with other runs that finish at the
 * same time. Throws ClaimLost when another consumer has claimed it or it has ended.
 */
export function finishRun(
  ctx: Pick<Context, 'db' | 'clock' | 'groups' | 'changes'>,
  meter: Meter,
  finished: FinishedRun,
): Promise<void> {
  return ctx.groups.join('response-ends', finished, (group) =>
    writeGroupOrEach(group, (runs) => writeFinished(ctx, meter, runs)),
  )
}

async function writeFinished(
  ctx: Pick<Context, 'db' | 'clock' | 'changes'>,
  meter: Meter,
  runs: readonly FinishedRun[],
): Promise<Array<undefined | ClaimLost>> {
  const now = ctx.clock.now()
  const results: Array<undefined | ClaimLost> = []
  const announce = await ctx.db.transaction().execute(async (tx) => {
    const used: UsageCharge[] = []
    const ended: Array<{ org_id: string; response: ResponseObject }> = []
    for (const { claimed, response, last, used: usage } of runs) {
      const batch = { first_number: last[0]!.sequence_number, events: last.map(({ data }) => data) }
      if (!(await endResponse(tx, claimed, { response, last: batch, now }))) {
        results.push(new ClaimLost('another worker has this response'))
        continue
      }
      if (usage) used.push(usage)
      ended.push({ org_id: claimed.org_id, response })
      results.push(undefined)
      failpoint('within_response_end')
    }
    return [await meter.chargeWithin(tx, used), await recordEnds(ctx, tx, { ended, now })]
  })
  for (const each of announce) each()
  return results
}
