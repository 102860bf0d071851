import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { EngineError } from '../../server/engines/engine-error.ts'
import type { VideoEngine } from '../../server/engines/video/contract.ts'
import { instantVideo } from '../../server/engines/video/instant.ts'
import { soleEngine } from '../../server/engines/video/pool.ts'
import { BlobsAway } from '../../server/platform/blobs/blobs.ts'
import { MODEL, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

/** What the engine of this file does next; null lets it be the instant engine. */
let fault: { poll?: () => never; start?: () => never } = {}
const instant = instantVideo({ kind: 'instant' })
const engine: VideoEngine = {
  ...instant,
  start: async (request, signal) => (fault.start ? fault.start() : instant.start(request, signal)),
  poll: async (ticket, signal) => (fault.poll ? fault.poll() : instant.poll(ticket, signal)),
}
const moderate = async () => ({ verdict: 'allow' as const, categories: [], engine: 'test', version: '1' })

let service: PipelineApp
before(async () => {
  service = await startPipelineApp(
    {},
    {
      engines: {
        video: new Map([[MODEL, soleEngine({ engine, model: MODEL, name: 'instant' })]]),
        moderation: { sees_images: false, media: 'allow', moderate },
        translation: { available: false, translate: () => Promise.reject(new EngineError('permanent', 'none')) },
        chat: new Map(),
        close: async () => {},
      },
    },
  )
})
after(() => service.close())
afterEach(async () => {
  fault = {}
  assert.deepEqual(await service.app.audit(), {})
})

const raise = (error: Error) => (): never => {
  throw error
}

test('an internal error is retried, then the job fails with internal_error and costs nothing', async () => {
  const before = await service.balance()
  let tries = 0
  fault.start = () => {
    tries += 1
    throw new TypeError('undefined is not a function')
  }
  const job = await service.drive(await service.submit())
  assert.equal(job.error_code, 'internal_error')
  assert.equal(tries, 6)
  assert.deepEqual(await service.balance(), before)
})

test('a missing file is an internal error, not an outage that is waited out forever', async () => {
  fault.start = raise(
    Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT', syscall: 'open', path: '/gone' }),
  )
  assert.equal((await service.drive(await service.submit())).error_code, 'internal_error')
})

test('an internal error that happens once does not show on the job', async () => {
  fault.start = () => {
    fault = {}
    throw new TypeError('once')
  }
  assert.equal((await service.drive(await service.submit())).status, 'completed')
})

test('an outcome that cannot be written is tried again after ever longer waits, then the job fails', async () => {
  const { pool } = service.app.database
  await pool.query(`
    create function refuse_write() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
    create trigger refuse_write before update on video_jobs for each row
      when (new.status = 'in_progress' and old.status = 'queued') execute function refuse_write()`)
  try {
    assert.equal((await service.drive(await service.submit())).error_code, 'internal_error')
  } finally {
    await pool.query('drop function refuse_write cascade')
  }
})

test('a job that cannot be written at all is claimed again after waits of up to a minute', async () => {
  const { pool } = service.app.database
  await pool.query(`
    create function refuse_write() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
    create trigger refuse_write before update on video_jobs for each row
      when (new.status <> old.status or new.claim_id = old.claim_id) execute function refuse_write()`)
  const id = await service.submit()
  const waits: number[] = []
  try {
    for (let tries = 0; tries < 9; tries++) {
      await service.app.tick()
      const { status, next_run_at } = await service.row(id)
      assert.equal(status, 'moderating')
      waits.push((next_run_at.getTime() - service.app.clock.now().getTime()) / 1000)
      service.app.clock.set(next_run_at)
    }
  } finally {
    await pool.query('drop function refuse_write cascade')
  }
  assert.ok(waits[0]! <= 1 && waits[8]! > 40 && Math.max(...waits) <= 60, String(waits))
  assert.equal((await service.drive(id)).status, 'completed')
})

test('retries of an engine that was down do not count toward the limit of internal errors', async () => {
  fault.start = raise(new EngineError('transient', 'away'))
  const id = await service.submit()
  await service.drive(id, ({ tries }) => tries === 8)
  fault.start = () => {
    fault = {}
    throw new TypeError('once')
  }
  assert.equal((await service.drive(id)).status, 'completed')
})

test('a bucket that was away does not count toward the limit of internal errors', async () => {
  let starts = 0
  fault.start = () => {
    starts += 1
    if (starts <= 8) throw new BlobsAway('GetObject: TimeoutError')
    fault = {}
    throw new TypeError('once')
  }
  assert.equal((await service.drive(await service.submit())).status, 'completed')
  assert.equal(starts, 9)
})

test('without a stored allow for exactly its text nothing reaches an engine', async () => {
  const { db } = service.app.ctx
  for (const spoil of [
    (id: string) => db.deleteFrom('moderation_records').where('job_id', '=', id).execute(),
    (id: string) => db.updateTable('moderation_records').set({ verdict: 'block' }).where('job_id', '=', id).execute(),
    (id: string) =>
      db
        .updateTable('moderation_records')
        .set({ text_digest: '0'.repeat(64) })
        .where('job_id', '=', id)
        .execute(),
    (id: string) =>
      // As long as before: that what is stored is counted is checked after each test.
      db.updateTable('video_jobs').set({ prompt: sql`reverse(prompt)` }).where('id', '=', id).execute(),
    (id: string) =>
      db.updateTable('video_jobs').set({ engine_prompt: 'What nobody looked at' }).where('id', '=', id).execute(),
  ]) {
    fault.start = raise(new EngineError('transient', 'away'))
    const id = await service.submit()
    await service.drive(id, ({ status, tries }) => status === 'queued' && tries > 0)
    await spoil(id)
    let started = 0
    fault.start = () => {
      started += 1
      throw new EngineError('transient', 'reached')
    }
    assert.equal((await service.drive(id)).error_code, 'internal_error')
    assert.equal(started, 0)
    await db.deleteFrom('video_jobs').where('id', '=', id).execute()
  }
})

test('a job of a model that was removed from the configuration waits for a node that knows it, and fails when its time is up', async () => {
  fault.start = raise(new EngineError('transient', 'away'))
  const id = await service.submit()
  await service.drive(id, ({ tries }) => tries > 0)
  await service.app.ctx.db.updateTable('video_jobs').set({ model: 'gone-1' }).where('id', '=', id).execute()
  assert.equal((await service.drive(id, ({ model }) => model === 'gone-1')).status, 'queued')
  service.app.clock.advance(service.app.ctx.config.limits.queue_seconds)
  assert.equal((await service.drive(id)).error_code, 'queue_timeout')
  assert.equal((await service.balance()).held, 0n)
})
