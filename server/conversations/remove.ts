import type { Context } from '../context.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { addSeconds } from '../platform/clock.ts'
import { ApiError } from '../platform/errors.ts'
import type { Sweep } from '../platform/sweep.ts'
import { deleteResponse } from '../responses/stored/cancel.ts'
import { deleteResponses } from '../responses/stored/store/responses.ts'
import { deleteConversations, findUnfinished, lockConversation, lockConversationsUsedBefore } from './store.ts'

/** A conversation is deleted this long after its last message was sent, with all its responses. */
const RETENTION_SECONDS = 30 * 86_400
const BATCH = 100

export function expiryOf(used_at: Date): Date {
  return addSeconds(used_at, RETENTION_SECONDS)
}

export function noSuchConversation(): ApiError {
  return new ApiError(
    'not_found',
    'No such conversation. Check the id: a conversation is private to the person who began it.',
  )
}

/** Deletes a conversation with its responses; one that is still running is cancelled first. Throws ApiError `not_found`. */
export async function removeConversation(
  ctx: Pick<Context, 'db' | 'clock' | 'changes'>,
  principal: Principal,
  id: string,
): Promise<void> {
  for (const response_id of await findUnfinished(ctx.db, principal, id))
    await deleteResponse(ctx, principal, response_id)
  await ctx.db.transaction().execute(async (tx) => {
    if (!(await lockConversation(tx, principal, id))) throw noSuchConversation()
    await deleteResponses(tx, await deleteConversations(tx, [id]))
  })
}

/** Deletes conversations that nobody has used for 30 days. */
export function conversationSweep({ db, clock }: Pick<Context, 'db' | 'clock'>): Sweep {
  return {
    name: 'conversations.retention',
    every_seconds: 300,
    async run() {
      const before = addSeconds(clock.now(), -RETENTION_SECONDS)
      const removeSome = () =>
        db.transaction().execute(async (tx) => {
          const ids = await lockConversationsUsedBefore(tx, before, BATCH)
          await deleteResponses(tx, await deleteConversations(tx, ids))
          return ids.length
        })
      while ((await removeSome()) === BATCH);
    },
  }
}
