import { planOf } from '../../catalog/entitlements.ts'
import type { Config } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import type { Db, Tx } from '../../platform/db/db.ts'
import { writeGroupOrEach } from '../../platform/db/groups.ts'
import { ApiError } from '../../platform/errors.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { QUEUE_TOPIC } from '../../platform/queue/consumer.ts'
import { takingTurnsAs } from '../../platform/turns.ts'
import { responseEvent } from '../events/event.ts'
import { type ItemKind, newItemId } from '../ids.ts'
import type { Item } from '../schema/items.ts'
import type { CreateResponse, ResponseObject } from '../schema/response.ts'
import { insertEvents } from './store/events.ts'
import {
  countUnfinished,
  insertResponses,
  lockUnfinished,
  RESPONSE_QUEUE,
  type WrittenResponse,
  writeResponse,
} from './store/responses.ts'

/** A response with the items of its request alone, in order, each with an id: what is stored, and what a socket caches. */
export type ResponseRecord = { response: ResponseObject; input: readonly Item[] }

/** Puts a background response into the conversation that its metadata names, in the transaction that stores it. */
export type JoinConversation = (
  tx: Tx,
  caller: Pick<Principal, 'org_id' | 'user_id'>,
  joined: ResponseRecord & { now: Date },
) => Promise<void>

/** Longer ones have a statement of their own, so that a group of them does not hold up others. */
const SHARED_CHARACTERS_MAX = 16 * 1024

/**
 * Stores a response that has ended, with its input and output, in a commit shared with others of its organization that are stored at the
 * same time. It is stored as it is at the call.
 */
export async function saveResponse(
  ctx: Pick<Context, 'db' | 'clock' | 'groups'>,
  call: { principal: Principal; request_id: string },
  record: ResponseRecord,
): Promise<void> {
  const stored = await writeResponse({ ...newRow(ctx, call, record), request: null, events: [] })
  if (stored.body.length + stored.items.length > SHARED_CHARACTERS_MAX || typeof stored.items !== 'string')
    return insertResponses(ctx.db, [stored])
  const { org_id } = call.principal
  const write = async (list: readonly WrittenResponse[]) => {
    await insertResponses(ctx.db, list)
    return list.map(() => undefined)
  }
  await ctx.groups.join(`responses/${org_id}`, stored, (group) =>
    takingTurnsAs(org_id, () => writeGroupOrEach(group, write)),
  )
}

/**
 * Stores a response as `queued`, due at once, with its first two events. The caller has made every check that is an HTTP error, and
 * replaced references in `input` by their items. Throws ApiError `concurrency_limit_exceeded` when others have taken the last place.
 */
export async function enqueueResponse(
  ctx: Pick<Context, 'config' | 'db' | 'clock' | 'changes'>,
  call: { principal: Principal; request_id: string; body: CreateResponse },
  record: ResponseRecord,
  join?: JoinConversation,
): Promise<void> {
  const { response } = record
  const { input: _, ...request } = call.body
  const first = [responseEvent('response.created', 0, response), responseEvent('response.queued', 1, response)]
  const events = first.map(({ data }) => data)
  await ctx.db.transaction().execute(async (tx) => {
    await insertResponses(tx, [await writeResponse({ ...newRow(ctx, call, record), request, events })])
    await insertEvents(tx, response.id, { first_number: 0, events })
    await join?.(tx, call.principal, { ...record, now: ctx.clock.now() })
    // As the last thing, since others of the organization wait for this transaction from here on.
    await lockUnfinished(tx, call.principal.org_id)
    await requireRoom({ ...ctx, db: tx }, call.principal, { added: 0 })
    failpoint('within_queue_response')
  })
  ctx.changes.announce(QUEUE_TOPIC, RESPONSE_QUEUE)
  failpoint('after_queue_response')
}

/**
 * Throws ApiError `concurrency_limit_exceeded` when the plan does not allow the organization `added` more unfinished background responses.
 */
export async function requireRoom(
  { config, db }: { config: Config; db: Db },
  { org_id, plan }: Principal,
  { added }: { added: 0 | 1 },
): Promise<void> {
  const { max_background_responses: most } = planOf(config, plan)
  if ((await countUnfinished(db, org_id)) + added <= most) return
  const text = `Your plan allows ${most} background responses in progress. Wait for one to end, or cancel one.`
  throw new ApiError('concurrency_limit_exceeded', text)
}

function newRow(
  { clock }: Pick<Context, 'clock'>,
  { principal, request_id }: { principal: Principal; request_id: string },
  { response, input }: ResponseRecord,
) {
  const { org_id, user_id, key_id } = principal
  return { org_id, user_id, key_id, request_id, response, input: withDistinctIds(input), now: clock.now() }
}

/** Where a client used an id twice in one request, the last item keeps it, so that pages by id neither skip nor repeat an item. */
function withDistinctIds(items: readonly Item[]): Item[] {
  const last = new Map(items.map(({ id }, index) => [id, index]))
  return items.map((item, index) => (last.get(item.id) === index ? item : { ...item, id: newItemId(KINDS[item.type]) }))
}

const KINDS: Readonly<Record<Item['type'], ItemKind>> = {
  message: 'msg',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  reasoning: 'rs',
  compaction: 'cmp',
  additional_tools: 'at',
}
