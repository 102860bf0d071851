import { type Generated, type JSONColumnType, sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { Position } from '../platform/http/list.ts'
import type { Item, OutputItem } from '../responses/schema/items.ts'
import type { ResponseObject } from '../responses/schema/response.ts'
import type { Owner } from '../responses/stored/store/responses.ts'
import type { ConversationSettings } from './schema.ts'

export type ConversationRow = {
  id: string
  title: string
  pinned: boolean
  settings: ConversationSettings
  created_at: Date
  used_at: Date
}
export type ListedRow = Omit<ConversationRow, 'settings'>

type ConversationsTable = Omit<ConversationRow, 'settings' | 'pinned'> &
  Owner & { pinned: Generated<boolean>; settings: JSONColumnType<ConversationSettings> }
type StoredTurn = { response_id: string; conversation_id: string; position: Generated<bigint>; question: string }

declare module '../platform/db/db.ts' {
  interface Database {
    conversations: ConversationsTable
    conversation_turns: StoredTurn
  }
}

const LISTED = ['id', 'title', 'pinned', 'created_at', 'used_at'] as const

/** Adds a conversation, unless the person has `most` already: false then. */
export async function insertConversation(
  db: Db,
  { org_id, user_id }: Owner,
  {
    id,
    title,
    settings,
    now,
    most,
  }: { id: string; title: string; settings: ConversationSettings; now: Date; most: number },
): Promise<boolean> {
  const result = await sql`
    insert into conversations (id, org_id, user_id, title, settings, created_at, used_at)
    select ${id}, ${org_id}, ${user_id}, ${title}, ${JSON.stringify(settings)}::json, ${now}, ${now}
    where (select count(*) from conversations where org_id = ${org_id} and user_id = ${user_id}) < ${most}`.execute(db)
  return result.numAffectedRows === 1n
}

export async function findConversation(db: Db, owner: Owner, id: string): Promise<ConversationRow | null> {
  const row = await db
    .selectFrom('conversations')
    .select([...LISTED, 'settings'])
    .where('org_id', '=', owner.org_id)
    .where('user_id', '=', owner.user_id)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ?? null
}

/** Changes what is given, and returns the conversation; null when the person has none with this id. */
export async function updateConversation(
  db: Db,
  owner: Owner,
  { id, changes }: { id: string; changes: Partial<Pick<ConversationRow, 'title' | 'pinned' | 'settings'>> },
): Promise<ConversationRow | null> {
  const { settings, ...rest } = changes
  if (Object.keys(changes).length === 0) return findConversation(db, owner, id)
  const row = await db
    .updateTable('conversations')
    .set({ ...rest, ...(settings && { settings: JSON.stringify(settings) }) })
    .where('org_id', '=', owner.org_id)
    .where('user_id', '=', owner.user_id)
    .where('id', '=', id)
    .returning([...LISTED, 'settings'])
    .executeTakeFirst()
  return row ?? null
}

/**
 * A page of the conversations that have an answer, one more than `limit`: pinned ones first, each by their last use. After one that is gone
 * the list begins again. A search compares the titles and questions of all of them, in the two indexes of the person and the conversation.
 */
export async function listConversations(
  db: Db,
  { org_id, user_id }: Owner,
  { limit, after, order, search }: Position & { search: string },
): Promise<ListedRow[]> {
  const [direction, beyond] = order === 'asc' ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`]
  const own = sql`org_id = ${org_id} and user_id = ${user_id}`
  const contains = (text: ReturnType<typeof sql>) => sql`strpos(lower(${text}), lower(${search})) > 0`
  const found = sql`(${contains(sql`c.title`)} or exists (
    select from conversation_turns t where t.conversation_id = c.id and ${contains(sql`t.question`)}))`
  const result = await sql<ListedRow>`
    with place as (select pinned, used_at, id from conversations where ${own} and id = ${after})
    select c.id, c.title, c.pinned, c.created_at, c.used_at from conversations c
    where ${own} and exists (select from conversation_turns t where t.conversation_id = c.id)
      and (not exists (select from place) or (c.pinned, c.used_at, c.id) ${beyond} (select pinned, used_at, id from place))
      and ${search === '' ? sql`true` : found}
    order by c.pinned ${direction}, c.used_at ${direction}, c.id ${direction} limit ${limit + 1}`.execute(db)
  return result.rows
}

/** Puts a response into a conversation of the person, which is used by that. No effect when they have no such conversation. */
export async function insertTurn(
  tx: Db,
  { org_id, user_id }: Owner,
  { id, response_id, question, now }: { id: string; response_id: string; question: string; now: Date },
): Promise<void> {
  await sql`
    with used as (
      update conversations set used_at = greatest(used_at, ${now})
      where org_id = ${org_id} and user_id = ${user_id} and id = ${id} returning id)
    insert into conversation_turns (response_id, conversation_id, question)
    select ${response_id}, id, ${question} from used`.execute(tx)
}

export type TurnRow = Pick<ResponseObject, 'id' | 'model' | 'status' | 'previous_response_id'> & {
  created_at: Date
  request_id: string
  body: Pick<ResponseObject, 'error' | 'incomplete_details'>
  input: Item[]
  output: OutputItem[]
  charged: bigint | null
  input_tokens: number | null
  cached_input_tokens: number | null
  output_tokens: number | null
  reasoning_tokens: number | null
}

/**
 * The turns of a conversation that come after the response `after`, from the first for one that is not in it: as many as have
 * `page_bytes` of items together, at least one, and at most `limit`. Without them when they have more than `bytes_max`.
 */
export async function listTurns(
  db: Db,
  { org_id, user_id }: Owner,
  page: { id: string; after: string | null; limit: number; page_bytes: number; bytes_max: number },
): Promise<{ bytes: number; content: { turns: TurnRow[]; has_more: boolean } | null }> {
  const { id, after, limit, page_bytes, bytes_max } = page
  const result = await sql<TurnRow & { bytes: bigint; has_more: boolean }>`
    with place as (
      select position from conversation_turns where conversation_id = ${id} and response_id = ${after}
    ), following as (
      select r.id, t.position, sum(r.size_bytes) over (order by t.position) as bytes, row_number() over (order by t.position) as number
      from conversations c join conversation_turns t on t.conversation_id = c.id join responses r on r.id = t.response_id
      where c.id = ${id} and c.org_id = ${org_id} and c.user_id = ${user_id}
        and t.position > coalesce((select position from place), 0)
      order by t.position limit ${limit + 1}
    ), chosen as (
      select * from following where number <= ${limit} and (number = 1 or bytes <= ${page_bytes})
    ), total as (
      select max(bytes) as bytes, (select count(*) from following) > count(*) as has_more from chosen
    )
    select r.id, r.model, r.status, r.previous_response_id, r.created_at, r.request_id, r.body, total.bytes, total.has_more,
           -e.amount as charged, e.input_tokens, e.cached_input_tokens, e.output_tokens, e.reasoning_tokens, items.input, items.output
    from chosen n cross join total join responses r on r.id = n.id
      left join ledger_entries e on e.request_id = r.request_id and e.kind = 'charge' and e.job_id is null and e.org_id = ${org_id}
      cross join lateral (
        select coalesce(json_agg(i.item order by i.position) filter (where i.direction = 'input'), '[]') as input,
               coalesce(json_agg(i.item order by i.position) filter (where i.direction = 'output'), '[]') as output
        from response_items i where i.response_id = r.id and total.bytes <= ${bytes_max}) items
    order by n.position`.execute(db)
  const bytes = Number(result.rows[0]?.bytes ?? 0)
  if (bytes > bytes_max) return { bytes, content: null }
  return { bytes, content: { turns: result.rows, has_more: result.rows[0]?.has_more ?? false } }
}

/** The responses of a conversation that have not ended. */
export async function findUnfinished(db: Db, { org_id, user_id }: Owner, id: string): Promise<string[]> {
  const result = await sql<{ id: string }>`
    select r.id from conversation_turns t join responses r on r.id = t.response_id
    where t.conversation_id = ${id} and r.org_id = ${org_id} and r.user_id = ${user_id} and r.finished_at is null`.execute(
    db,
  )
  return result.rows.map(({ id }) => id)
}

/** Locks a conversation until the transaction ends. False when the person has none with this id. */
export async function lockConversation(tx: Db, { org_id, user_id }: Owner, id: string): Promise<boolean> {
  const result = await sql`
    select from conversations where org_id = ${org_id} and user_id = ${user_id} and id = ${id} for update`.execute(tx)
  return result.rows.length > 0
}

/** Locks up to `limit` conversations that were last used before `before`, of anybody, and returns their ids. */
export async function lockConversationsUsedBefore(tx: Db, before: Date, limit: number): Promise<string[]> {
  const result = await sql<{ id: string }>`
    select id from conversations where used_at <= ${before} order by used_at limit ${limit} for update skip locked`.execute(
    tx,
  )
  return result.rows.map(({ id }) => id)
}

/** Deletes conversations, which the caller has locked, and returns the ids of the responses that were in them. */
export async function deleteConversations(tx: Db, ids: readonly string[]): Promise<string[]> {
  const result = await sql<{ response_id: string }>`
    delete from conversation_turns where conversation_id = any(${[...ids]}::text[]) returning response_id`.execute(tx)
  await sql`delete from conversations where id = any(${[...ids]}::text[])`.execute(tx)
  return result.rows.map(({ response_id }) => response_id)
}
