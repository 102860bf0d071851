import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { Purpose } from '../../../server/files/purposes.ts'
import { insertFile } from '../../../server/files/store/files.ts'
import { newId } from '../../../server/platform/ids.ts'
import { saveVariants } from '../../../server/videos/variants/store.ts'
import { samplePicture } from '../data/media.ts'
import type { TestApp } from './app.ts'
import { videoBody } from './app.ts'
import { type Caller, type HttpResponse, send } from './send.ts'

export const MIB = 1_048_576

/** Submits a valid body with these changes; a change to `undefined` leaves the member out. */
export function submit(app: TestApp, caller: Caller, changes: Record<string, unknown> = {}): Promise<HttpResponse> {
  return send(app, 'POST', '/v1/videos', caller, videoBody(changes))
}

/** Runs what is due until `done`: a step of a job may put the next one off for half a second. */
export async function tickUntil(app: TestApp, done: Promise<unknown>): Promise<void> {
  let over = false
  const ended = done.finally(() => {
    over = true
  })
  while (!over) {
    await app.tick()
    await Promise.race([ended, pause(200)])
  }
  await ended
}

/** Submits a body as it is. */
export function sendRaw(
  app: { url: string },
  caller: Caller,
  body: string | Uint8Array,
  content_type = 'application/json',
): Promise<HttpResponse> {
  const headers = { ...caller.headers, 'content-type': content_type }
  return send(app, 'POST', '/v1/videos', { ...caller, headers }, Buffer.from(body as string))
}

/** A file of an organization without its bytes: what a job refers to is the row. */
export async function storedFile(
  app: TestApp,
  owner: { org_id: string; user_id: string },
  options: { purpose?: Purpose; size_bytes?: number; live_seconds?: number } = {},
): Promise<string> {
  const { purpose = 'vision', size_bytes = 1000, live_seconds = 86_400 } = options
  const created_at = app.clock.now()
  const id = newId('file', created_at)
  await insertFile(app.database.db, {
    id,
    org_id: owner.org_id,
    user_id: owner.user_id,
    purpose,
    size_bytes,
    created_at,
    filename: 'a.bin',
    media_type: 'application/octet-stream',
    sha256: randomBytes(32).toString('hex'),
    blob_key: randomBytes(16).toString('hex'),
    probe: null,
    expires_at: new Date(created_at.getTime() + live_seconds * 1000),
  })
  return id
}

/**
 * Gives every completed video a thumbnail and a spritesheet, for tests that are not about them. Otherwise FFmpeg makes them as soon as the
 * console shows the video, in two seconds of processor time each.
 */
export async function drawVariants(app: TestApp): Promise<void> {
  const [thumbnail, spritesheet] = await Promise.all([samplePicture('webp'), samplePicture('jpeg')])
  const { db, blobs } = app.ctx
  const jobs = await db
    .selectFrom('video_jobs')
    .selectAll()
    .where('status', '=', 'completed')
    .where('thumbnail_key', 'is', null)
    .execute()
  for (const job of jobs) {
    const store = async (bytes: Uint8Array) => {
      const { key, ...facts } = await blobs.write(Readable.from([Buffer.from(bytes)]), { max_bytes: bytes.length })
      return { blob_key: key, ...facts }
    }
    await saveVariants(db, job, { thumbnail: await store(thumbnail), spritesheet: await store(spritesheet) })
  }
}

/** Writes canceled jobs of numbered prompts straight into the table; `from` is the first number. */
export async function insertEndedJobs(
  { pool }: Pick<TestApp['database'], 'pool'>,
  { org_id, user_id }: { org_id: string; user_id: string },
  count: number,
  from = 1,
): Promise<void> {
  await pool.query(
    `insert into video_jobs (id, org_id, user_id, request_id, model, prompt, seconds, aspect_ratio, inputs, status, per_second, cost,
                             currency, created_at, finished_at, next_run_at)
     select 'video_01' || lpad(upper(to_hex(i)), 24, '0'), $1, $2, 'req_1', 'instant-1', 'A boat, number ' || i || ' of many', 4, '16:9', '[]', 'canceled',
            1000000, 4000000, 'usd', now(), now(), now()
     from generate_series($4::int, $4::int + $3::int - 1) as i`,
    [org_id, user_id, count, from],
  )
}

/** Writes canceled jobs with the longest prompts straight into the table, and returns their ids, the oldest first. */
export async function insertLongJobs(
  { pool }: Pick<TestApp['database'], 'pool'>,
  { org_id, user_id }: { org_id: string; user_id: string },
  count: number,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into video_jobs (id, org_id, user_id, request_id, model, prompt, seconds, aspect_ratio, inputs, per_second, cost, currency,
       created_at, next_run_at, status, finished_at)
     select 'video_0' || upper(substr(md5($1), 1, 21)) || lpad(upper(to_hex(i)), 4, '0'), $1, $2, 'req', 'instant-1', $3, 4, '16:9', '[]', 1, 4, 'usd', now(), now(), 'canceled', now()
     from generate_series(1, $4::int) as i returning id`,
    [org_id, user_id, '\u{1F3AC}'.repeat(7000), count],
  )
  return rows.map(({ id }) => id)
}

/** The whole envelope, and nothing beside it. `message` is compared when given. */
export function assertRefused(
  answer: HttpResponse,
  expected: { status: number; code: string; param?: string | null; message?: string | RegExp; type?: string },
): void {
  const { status, code, param = null, message, type = 'invalid_request_error' } = expected
  const seen = JSON.stringify(answer.body)
  assert.equal(answer.status, status, seen)
  assert.deepEqual(Object.keys(answer.body), ['error'])
  const { error } = answer.body
  assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type'])
  assert.deepEqual({ code: error.code, param: error.param, type: error.type }, { code, param, type }, seen)
  if (typeof message === 'string') assert.equal(error.message, message)
  else if (message) assert.match(error.message, message)
  else assert.ok(error.message.length > 0)
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/)
}

/** Every 400 of the video endpoints has one code. */
export function assertInvalid(answer: HttpResponse, param: string | null, message?: string | RegExp): void {
  assertRefused(answer, { status: 400, code: 'invalid_request_error', param, ...(message ? { message } : {}) })
}

export async function jobsOf(app: TestApp, org_id: string): Promise<number> {
  const { rows } = await app.database.pool.query('select count(*)::int as count from video_jobs where org_id = $1', [
    org_id,
  ])
  return rows[0].count
}

/** Writes completed jobs that took these times straight into the table, the first one completed longest ago. Their clips cannot be read. */
export async function insertCompletedJobs(
  { pool }: Pick<TestApp['database'], 'pool'>,
  { org_id, user_id }: { org_id: string; user_id: string },
  options: { took_seconds: readonly number[]; waited_seconds?: number } & Partial<
    Record<'model' | 'aspect_ratio', string>
  > & {
      seconds?: number
    },
): Promise<void> {
  const { took_seconds, waited_seconds = 0, model = 'instant-1', seconds = 8, aspect_ratio = '16:9' } = options
  await pool.query(
    `insert into video_jobs (id, org_id, user_id, request_id, model, prompt, seconds, aspect_ratio, inputs, status, per_second, cost,
                             currency, created_at, queued_at, render_started_at, completed_at, finished_at, next_run_at, progress, blob_key,
                             output_sha256, output_size_bytes)
     select 'video_01' || upper(substr(md5(random()::text), 1, 24)), $1, $2, 'req_1', $3, 'A boat', $4::int, $5, '[]', 'completed', 1, $4::int, 'usd',
            ended - took * interval '1 second', ended - took * interval '1 second', ended - (took - $6::float8) * interval '1 second',
            ended, ended, ended, 100, repeat('0', 64), repeat('0', 64), 1
     from unnest($7::float8[]) with ordinality as given (took, n), lateral (select now() - interval '1 hour' + n * interval '1 microsecond') as at (ended)`,
    [org_id, user_id, model, seconds, aspect_ratio, waited_seconds, took_seconds],
  )
}
