import { createHash } from 'node:crypto'
import { type ColumnType, type Generated, sql } from 'kysely'
import type { Db } from '../../../platform/db/db.ts'
import { joinInTurns } from '../../../platform/json/bytes.ts'
import { writeJson } from '../../../platform/json/write.ts'
import type { Item, OutputItem } from '../../schema/items.ts'
import type { CreateResponse, ResponseObject, ResponseStatus } from '../../schema/response.ts'

/** Background responses that are due. */
export const RESPONSE_QUEUE = 'responses'
/** Announces ids of background responses that have new events, ended or were deleted, for their followers. */
export const RESPONSE_TOPIC = 'response'
/** Announces ids of responses to cancel, for the consumer that runs them. */
export const RESPONSE_CANCEL_TOPIC = 'response-cancel'

/** The owner of a stored response or a conversation: one person within one organization. Part of every query for a caller. */
export type Owner = { org_id: string; user_id: string }

/** The request of a background response without its input, which is stored as items. */
export type QueuedRequest = Omit<CreateResponse, 'input'>

export type ResponseRow = Owner & {
  id: string
  key_id: string | null
  request_id: string
  previous_response_id: string | null
  model: string
  status: ResponseStatus
  background: boolean
  /** The response object without its output. */
  body: ResponseObject
  /** Size of its items as JSON. */
  size_bytes: bigint
  /** Of what is stored beside its items: body, request, events, and what the row of each item takes. Null in rows of version 0.1.0. */
  other_bytes: bigint | null
  created_at: Date
  completed_at: Date | null
  finished_at: Date | null
  /** Null once it has ended. */
  request: QueuedRequest | null
  attempts: number
  /** How often it was put off since its engine, or the storage, was away. */
  waits: number
  cancel_requested_at: Date | null
  next_run_at: Date | null
  claim_id: string | null
  claimed_until: Date | null
}

type Optional =
  | 'completed_at'
  | 'other_bytes'
  | 'finished_at'
  | 'attempts'
  | 'waits'
  | 'cancel_requested_at'
  | 'next_run_at'
  | 'claim_id'
  | 'claimed_until'
type ResponsesTable = Omit<ResponseRow, Optional | 'body' | 'request'> & {
  [Name in Optional]: Generated<ResponseRow[Name]>
} & {
  body: ColumnType<ResponseObject, string, string>
  request: ColumnType<QueuedRequest | null, string | null, string | null>
}

declare module '../../../platform/db/db.ts' {
  interface Database {
    responses: ResponsesTable
  }
}

export type NewResponse = Owner & {
  key_id: string | null
  request_id: string
  /** Its output is empty when it has not ended. */
  response: ResponseObject
  /** The items of this request alone, with distinct ids. */
  input: readonly Item[]
  now: Date
  /** Null for one that has ended. */
  request: QueuedRequest | null
  /** Those that are stored with it, each as JSON. */
  events: readonly string[]
}

/** A response as it is inserted: what is a column of its own, and JSON that is kept byte for byte. */
export type WrittenResponse = { row: object; body: string; request: string; items: string | readonly Buffer[] }

/** Writes a response as JSON; a long one in pieces, with other work between. */
export async function writeResponse(stored: NewResponse): Promise<WrittenResponse> {
  const { org_id, user_id, key_id, request_id, response, input, now, request, events } = stored
  const { id, previous_response_id, model, status, background, output } = response
  const [body, requestText] = [bodyText(response), JSON.stringify(request)]
  const written = writeJson(input.concat(output))
  const items = typeof written === 'string' ? written : await written
  const item_ids = [...idsOf(input), ...idsOf(output)]
  const row = {
    id,
    org_id,
    user_id,
    key_id,
    request_id,
    previous_response_id,
    model,
    status,
    background,
    created_at: new Date(response.created_at * 1000),
    now,
    queued: request !== null,
    inputs: input.length,
    size_bytes: bytesOf(items),
    other_bytes: otherBytes([body, requestText, ...events], item_ids),
    item_ids,
  }
  return { row, body, request: requestText, items }
}

/** What an item takes beside its JSON, in its row and the entries of two indexes, to which three times its id is added: pages of indexes have gaps. */
export const ITEM_ROW_BYTES = 640

/** What is stored of a response beside the JSON of its items. */
export function otherBytes(texts: readonly string[], item_ids: readonly string[]): number {
  const rows = item_ids.reduce((sum, id) => sum + ITEM_ROW_BYTES + 3 * Buffer.byteLength(id), 0)
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), rows)
}

function bytesOf(items: WrittenResponse['items']): number {
  return typeof items === 'string' ? Buffer.byteLength(items) : items.reduce((sum, { length }) => sum + length, 0)
}

/**
 * Inserts responses with their items, in one statement: all of them, or none. One whose items are in pieces comes alone. JSON goes beside
 * the rows, since `json_to_recordset` would read every escape in it.
 */
export async function insertResponses(db: Db, list: readonly WrittenResponse[]): Promise<void> {
  const [{ items: first } = { items: '' }] = list
  // A buffer is sent as it is; a long string would be measured and copied in one go.
  const items =
    typeof first === 'string'
      ? listText(list.map(({ items }) => items as string))
      : await joinInTurns([Buffer.from('['), ...first, Buffer.from(']')])
  await sql`-- prepared as insert_responses
    with given as (
      select * from rows from (
        json_to_recordset(${JSON.stringify(list.map(({ row }) => row))}::json) as (
          id text, org_id text, user_id text, key_id text, request_id text, previous_response_id text, model text, status text,
          background boolean, size_bytes bigint, other_bytes bigint, created_at timestamptz, now timestamptz, queued boolean,
          inputs int, item_ids json),
        json_array_elements(${listText(list.map(({ body }) => body))}::json),
        json_array_elements(${listText(list.map(({ request }) => request))}::json),
        json_array_elements(${items}::json)
      ) as g (id, org_id, user_id, key_id, request_id, previous_response_id, model, status, background, size_bytes, other_bytes, created_at,
              now, queued, inputs, item_ids, body, request, items)
    ), stored as (
      insert into responses (id, org_id, user_id, key_id, request_id, previous_response_id, model, status, background, body, size_bytes,
                             other_bytes, created_at, completed_at, finished_at, request, next_run_at)
      select id, org_id, user_id, key_id, request_id, previous_response_id, model, status, background, body, size_bytes, other_bytes, created_at,
             case when status = 'completed' then now end, case when not queued then now end, case when queued then request end,
             case when queued then now end
      from given
    )
    insert into response_items (response_id, direction, position, org_id, user_id, item_id, item, size_bytes)
    select id, case when n <= inputs then 'input' else 'output' end, case when n <= inputs then n else n - inputs end,
           org_id, user_id, item_id, item, octet_length(item::text)
    from given, rows from (json_array_elements(items), json_array_elements_text(item_ids)) with ordinality as e (item, item_id, n)`.execute(
    db,
  )
}

/** The bytes of an item `i` as JSON, in SQL. */
export const itemBytes = sql`coalesce(i.size_bytes, octet_length(i.item::text))`

/** An id as it is indexed: a long one by its digest, since a row of an index holds at most 2,704 bytes. */
export function itemKey(id: string): string {
  return id.length <= 256 ? id : `sha256:${createHash('sha256').update(id).digest('hex')}`
}

function listText(elements: readonly string[]): string {
  return `[${elements.join(',')}]`
}

/** A stored response, with its output; null in place of one whose JSON has more bytes than it may. */
export type FoundResponse = { background: boolean; bytes: number; body: ResponseObject | null }

/** A response of this person as it is returned, unless it has more than `bytes_max` bytes. Null when there is none with this id. */
export async function findResponse(
  db: Db,
  owner: Owner,
  { id, bytes_max }: { id: string; bytes_max: number },
): Promise<FoundResponse | null> {
  const result = await sql<{
    background: boolean
    status: ResponseStatus
    bytes: bigint
    body: ResponseObject | null
    output: OutputItem[] | null
  }>`
    select r.background, r.status, size.bytes, case when size.bytes <= ${bytes_max} then r.body end as body,
           case when size.bytes <= ${bytes_max} then (
             select coalesce(json_agg(i.item order by i.position), '[]') from response_items i
             where i.response_id = r.id and i.direction = 'output') end as output
    from responses r cross join lateral (
      select octet_length(r.body::text) + coalesce(sum(${itemBytes}), 0)::bigint as bytes from response_items i
      where i.response_id = r.id and i.direction = 'output') size
    where r.org_id = ${owner.org_id} and r.user_id = ${owner.user_id} and r.id = ${id}`.execute(db)
  const row = result.rows[0]
  if (!row) return null
  const { background, status, bytes, body, output } = row
  return { background, bytes: Number(bytes), body: body && { ...body, status, output: output! } }
}

/** Locks the row until the transaction ends. Null when it does not exist. */
export async function lockResponse(tx: Db, owner: Owner, id: string): Promise<ResponseRow | null> {
  const row = await tx
    .selectFrom('responses')
    .selectAll()
    .where('org_id', '=', owner.org_id)
    .where('user_id', '=', owner.user_id)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  return row ?? null
}

/** Deletes a response that has ended, with its items and events; `running` when it has not ended, null when there is none. */
export async function deleteEndedResponse(db: Db, owner: Owner, id: string): Promise<'deleted' | 'running' | null> {
  const result = await sql<{ id: string }>`
    delete from responses where org_id = ${owner.org_id} and user_id = ${owner.user_id} and id = ${id} and finished_at is not null
    returning id`.execute(db)
  if (result.rows.length > 0) return 'deleted'
  return (await findResponse(db, owner, { id, bytes_max: 0 })) ? 'running' : null
}

/** Deletes up to `limit` responses that ended before `before` and are in no conversation, whole, and returns their ids. */
export async function deleteResponsesEndedBefore(db: Db, before: Date, limit: number): Promise<string[]> {
  const result = await sql<{ id: string }>`
    delete from responses where id in (
      select id from responses r where finished_at <= ${before} and ${inNoConversation}
      order by finished_at limit ${limit} for update skip locked)
    returning id`.execute(db)
  return result.rows.map(({ id }) => id)
}

/** Of a response `r`, in SQL: those of a conversation are deleted together with it. */
export const inNoConversation = sql`not exists (select from conversation_turns t where t.response_id = r.id)`

/** Deletes those of these responses that have ended, whole. */
export async function deleteResponses(tx: Db, ids: readonly string[]): Promise<void> {
  await sql`delete from responses where id = any(${[...ids]}::text[]) and finished_at is not null`.execute(tx)
}

/** How many background responses of an organization have not ended: those that wait, and those under a lease of any consumer. */
export async function countUnfinished(db: Db, org_id: string): Promise<number> {
  const result = await sql<{ count: number }>`
    select (select count(*) from responses where org_id = ${org_id} and finished_at is null and claim_id is null)::int
         + (select count(*) from responses where org_id = ${org_id} and claimed_until is not null)::int as count`.execute(
    db,
  )
  return result.rows[0]!.count
}

/** Until the transaction ends, no other one that asks for this adds a background response of the organization. */
export async function lockUnfinished(tx: Db, org_id: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`responses ${org_id}`}, 0))`.execute(tx)
}

/** Requests that a running response end as cancelled. */
export async function requestCancel(tx: Db, owner: Owner, cancel: { id: string; now: Date }): Promise<void> {
  await tx
    .updateTable('responses')
    .set({ cancel_requested_at: cancel.now })
    .where('org_id', '=', owner.org_id)
    .where('user_id', '=', owner.user_id)
    .where('id', '=', cancel.id)
    .where('finished_at', 'is', null)
    .execute()
}

/** The fenced update that begins a run. False when the claim was lost. */
export async function markInProgress(tx: Db, row: { id: string; claim_id: string }): Promise<boolean> {
  const result = await tx
    .updateTable('responses')
    .set({ status: 'in_progress' })
    .where('id', '=', row.id)
    .where('claim_id', '=', row.claim_id)
    .where('finished_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** What is stored in `body`. */
export function bodyText(response: ResponseObject): string {
  return JSON.stringify({ ...response, output: [] })
}

/** The ids of items as they are indexed. */
export function idsOf(items: readonly Item[]): string[] {
  return items.map(({ id }) => itemKey(id))
}
