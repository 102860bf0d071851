import type { StorageGate } from '../billing/storage/gate.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { unixSeconds } from '../platform/clock.ts'
import { ApiError } from '../platform/errors.ts'
import { openShares } from '../platform/fair-queue.ts'
import { abortOnLeaving } from '../platform/http/abort-on-disconnect.ts'
import { leaseForReading, readWithRoom } from '../platform/http/body/byte-budget.ts'
import { pageOf, positionOf } from '../platform/http/list.ts'
import { newId } from '../platform/ids.ts'
import { sendJson } from '../platform/json/send.ts'
import { formatMoney } from '../platform/money.ts'
import { expiryOf, noSuchConversation, removeConversation } from './remove.ts'
import {
  CONVERSATION_PAGE,
  ConversationList,
  ConversationQuery,
  type ConversationSettings,
  ConversationView,
  CreateConversation,
  DeletedConversation,
  type ListedConversation,
  TurnList,
  TurnQuery,
  type TurnView,
  UpdateConversation,
} from './schema.ts'
import {
  type ConversationRow,
  findConversation,
  insertConversation,
  type ListedRow,
  listConversations,
  listTurns,
  type TurnRow,
  updateConversation,
} from './store.ts'

const PATH = '/console/conversations'
const ONE = `${PATH}/:conversation_id`
/** Of one person in one organization: a search looks at all of them. */
const CONVERSATIONS_MAX = 2000
const TURNS = { limit: 50, page_bytes: 1024 * 1024 }

const NEW_SETTINGS: ConversationSettings = {
  model: 'sandbox-1',
  system: '',
  temperature: '',
  top_p: '',
  max_tokens: '',
  stop: '',
  seed: '',
  reasoning_effort: '',
  response_format: 'text',
  schema_name: 'answer',
  schema: '',
  tools: '',
}

/** A search reads what the person has ever asked: one of an organization at a time, and few of all. */
const searchInTurn = openShares({ each: 1, all: 2 })

const list = route({
  method: 'GET',
  path: PATH,
  auth: 'session',
  summary: 'List your conversations, pinned ones first',
  description: 'Those with an answer, each by its last use; all, or those with a text in the title or a question.',
  query: ConversationQuery,
  response: ConversationList,
  async handle(ctx, { principal, query, reply }) {
    const position = positionOf('conversation', query, CONVERSATION_PAGE)
    const { search = '' } = query
    const read = () => listConversations(ctx.db, principal, { ...position, search })
    const { signal } = abortOnLeaving(reply)
    const rows = await (search === '' ? read() : searchInTurn(principal.org_id, read, signal))
    return pageOf(rows, position.limit, listedView)
  },
})

const create = (storage: StorageGate) =>
  route({
    method: 'POST',
    path: PATH,
    auth: 'session',
    summary: 'Begin a conversation',
    description: 'Background responses whose metadata has its id as `conversation_id` are its answers.',
    body: CreateConversation,
    response: ConversationView,
    errors: ['conflict', 'storage_limit_exceeded'],
    example: { title: 'Paper boats', settings: NEW_SETTINGS },
    async handle(ctx, { principal, body: { title, settings } }) {
      await storage.requireRoom(ctx.config, principal) // 413
      const now = ctx.clock.now()
      const row = { id: newId('conversation', now), title, settings, now }
      if (!(await insertConversation(ctx.db, principal, { ...row, most: CONVERSATIONS_MAX })))
        throw new ApiError('conflict', `You have ${CONVERSATIONS_MAX} conversations. Delete some of them first.`)
      return conversationView({ ...row, pinned: false, created_at: now, used_at: now })
    },
  })

const read = route({
  method: 'GET',
  path: ONE,
  auth: 'session',
  summary: 'Read a conversation',
  description: 'Its title and settings.',
  response: ConversationView,
  async handle(ctx, { principal, params }) {
    return viewOf(await findConversation(ctx.db, principal, params.conversation_id!))
  },
})

/** Settings can be 1.5 MB, all of which PostgreSQL compresses and writes at each change: one of an organization at a time, and few of all. */
const settingsInTurn = openShares({ each: 1, all: 2 })

const change = (storage: StorageGate) =>
  route({
    method: 'PATCH',
    path: ONE,
    auth: 'session',
    summary: 'Rename or pin a conversation, or change its settings',
    description: 'Only the members that are sent are changed.',
    body: UpdateConversation,
    example: { pinned: true },
    response: ConversationView,
    errors: ['storage_limit_exceeded'],
    async handle(ctx, { principal, params, body, reply }) {
      const { signal } = abortOnLeaving(reply)
      const update = () => updateConversation(ctx.db, principal, { id: params.conversation_id!, changes: body })
      if (!body.settings) return viewOf(await update())
      await storage.requireRoom(ctx.config, principal) // 413
      return viewOf(await settingsInTurn(principal.org_id, update, signal))
    },
  })

const remove = route({
  method: 'DELETE',
  path: ONE,
  auth: 'session',
  summary: 'Delete a conversation with its responses; a running one is cancelled first',
  description: 'Charges stay.',
  response: DeletedConversation,
  async handle(ctx, { principal, params }) {
    const id = params.conversation_id!
    await removeConversation(ctx, principal, id)
    return { id, object: 'conversation', deleted: true }
  },
})

const turns = route({
  method: 'GET',
  path: `${ONE}/turns`,
  auth: 'session',
  summary: 'List what was asked and answered in a conversation, the oldest first',
  description: 'Versions of an answer continue the same response. A page has at most 50, and fewer long ones.',
  query: TurnQuery,
  response: TurnList,
  async handle(ctx, { principal, params, query, reply }) {
    const id = params.conversation_id!
    viewOf(await findConversation(ctx.db, principal, id))
    const lease = leaseForReading(ctx.budget, principal.org_id, reply)
    const { turns, has_more } = await readWithRoom(lease, (bytes_max) =>
      listTurns(ctx.db, principal, { id, after: query.after ?? null, ...TURNS, bytes_max }),
    )
    return sendJson(reply, { ...pageOf(turns, turns.length, turnView), has_more })
  },
})

/** The conversations of the console. Only the person who began one may use it. */
export function conversationRoutes(storage: StorageGate): readonly Route[] {
  return [list, create(storage), read, change(storage), remove, turns]
}

function listedView({ id, title, pinned, created_at, used_at }: ListedRow): ListedConversation {
  const times = { created_at: unixSeconds(created_at), used_at: unixSeconds(used_at) }
  return { id, object: 'conversation', title, pinned, ...times, expires_at: unixSeconds(expiryOf(used_at)) }
}

function conversationView({ settings, ...row }: ConversationRow): ConversationView {
  return { ...listedView(row), settings }
}

/** Throws ApiError `not_found` for none. */
function viewOf(row: ConversationRow | null): ConversationView {
  if (!row) throw noSuchConversation()
  return conversationView(row)
}

function turnView(row: TurnRow): TurnView {
  const { id, model, status, previous_response_id, created_at, request_id, body, input, output, charged } = row
  const { input_tokens, cached_input_tokens, output_tokens, reasoning_tokens } = row
  const tokens = { input_tokens, cached_input_tokens, output_tokens, reasoning_tokens }
  const { error, incomplete_details } = body
  return {
    id,
    object: 'conversation.turn',
    created_at: unixSeconds(created_at),
    model,
    status,
    previous_response_id,
    error,
    incomplete_details,
    input,
    output,
    request_id,
    charge:
      charged === null ? null : { amount: formatMoney(charged), ...(tokens as Record<keyof typeof tokens, number>) },
  }
}
