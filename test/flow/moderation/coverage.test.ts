import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, mock, test } from 'node:test'
import type { Context } from '../../../server/context.ts'
import { EngineError } from '../../../server/engines/engine-error.ts'
import type { ModerationEngine } from '../../../server/engines/moderation/contract.ts'
import { instantVideo } from '../../../server/engines/video/instant.ts'
import { soleEngine } from '../../../server/engines/video/pool.ts'
import { describeUnjudged, requireJudgeable } from '../../../server/videos/moderation/coverage.ts'
import { moderate } from '../../../server/videos/moderation/moderate.ts'
import { sampleMedia, samplePicture } from '../../support/data/media.ts'
import { assertInvalid, jobsOf, submit } from '../../support/http/videos-app.ts'
import { MODEL, type PipelineApp, silence, startPipelineApp, upload } from '../pipeline-app.ts'

const INSTANT = 'instant'
const SEES = '{ kind: openai-moderations, base_url: "{engines}" }'
const BLIND = '{ kind: chat-guard, format: qwen3guard, model: guard, base_url: "{engines}" }'
const EARS = 'transcription: { base_url: "{engines}", model: whisper-1 }'

let dir: string
let clips: Record<'mp4' | 'silent.mp4', string>
const open: PipelineApp[] = []
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-coverage-'))
  clips = await sampleMedia(dir, ['mp4', 'silent.mp4'], { seconds: 2 })
})
afterEach(async () => {
  for (const service of open.splice(0)) {
    assert.deepEqual(await service.app.audit(), {})
    await service.close()
  }
})
after(() => rmSync(dir, { recursive: true, force: true }))

async function stageOf(moderation: string, moderation_more?: string): Promise<PipelineApp> {
  const service = await startPipelineApp({
    model: INSTANT,
    moderation,
    ...(moderation_more ? { moderation_more } : {}),
  })
  open.push(service)
  return service
}

async function filesOf(service: PipelineApp) {
  const image = { file_id: await upload(service, await samplePicture('png')) }
  const audio = { file_id: await upload(service, silence(2), { purpose: 'audio' }) }
  const loud = { file_id: await upload(service, readFileSync(clips.mp4), { purpose: 'video' }) }
  const quiet = { file_id: await upload(service, readFileSync(clips['silent.mp4']), { purpose: 'video' }) }
  return { image, audio, loud, quiet }
}

async function unjudgedOf(service: PipelineApp, id: string) {
  const { rows } = await service.app.database.pool.query(
    `select file_sha256s, unjudged from moderation_records where job_id = $1 and stage = 'prompt'`,
    [id],
  )
  return rows[0]
}

test('400 for media that an outside engine cannot judge, with the field and the reason', async () => {
  const service = await stageOf(BLIND)
  const { image, audio, loud } = await filesOf(service)
  const refused = async (body: Record<string, unknown>, param: string, what: RegExp) =>
    assertInvalid(await submit(service.app, service.customer, { model: MODEL, ...body }), param, what)
  await refused({ image_reference: [{ ...image, role: 'first_frame' }] }, 'image_reference', /can judge pictures/)
  await refused({ references: { images: [image] } }, 'references.images', /can judge pictures/)
  await refused({ references: { videos: [loud] } }, 'references.videos', /can judge pictures/)
  await refused({ references: { images: [image], audio: [audio] } }, 'references.images', /can judge pictures/)
  assert.equal(await jobsOf(service.app, service.customer.org_id), 0)
  service.engines.answers.chat = () => 'Safety: Safe\nCategories: None'
  assert.equal((await service.drive(await service.submit())).status, 'completed', 'text alone is judged')
})

test('400 for sound that nothing transcribes, a soundtrack included; a silent clip is accepted', async () => {
  const service = await stageOf(SEES)
  const { image, audio, loud, quiet } = await filesOf(service)
  const refused = async (references: object, param: string) =>
    assertInvalid(await submit(service.app, service.customer, { model: MODEL, references }), param, /sound/)
  await refused({ images: [image], audio: [audio] }, 'references.audio')
  await refused({ videos: [quiet, loud] }, 'references.videos[1].file_id')
  assert.equal(await jobsOf(service.app, service.customer.org_id), 0)
  const job = await service.drive(await service.submit({ references: { images: [image], videos: [quiet] } }))
  assert.equal(job.status, 'completed')
  assert.deepEqual(await unjudgedOf(service, job.id), {
    file_sha256s: job.inputs.map(({ sha256 }) => sha256),
    unjudged: [],
  })
})

test('clips are probed for sound only while somebody waits for it', async () => {
  const service = await stageOf(SEES)
  const { quiet } = await filesOf(service)
  const id = await service.submit({ references: { videos: [quiet] } })
  const { inputs, org_id } = await service.row(id)
  const body = { model: MODEL, prompt: 'x', seconds: 4, aspect_ratio: '16:9' as const, references: { videos: [quiet] } }
  const left = new AbortController()
  const probed = requireJudgeable(service.app.ctx, org_id, { body, inputs, signal: left.signal })
  left.abort(new Error('left'))
  await assert.rejects(probed, /left/)
})

test('media that are let through unjudged are recorded as such, and the log of the start names them', async () => {
  for (const [service, parts, log] of [
    [await stageOf('{ kind: rules }'), ['all', 'all', 'all'], /pictures and sound/],
    [await stageOf(SEES, 'media: allow'), ['sound', 'all'], /Reference sound cannot/],
    [await stageOf('{ kind: rules }', EARS), ['all', 'pictures'], /Reference pictures cannot/],
    [await stageOf(SEES, EARS), [], null],
  ] as const) {
    const { image, audio, loud } = await filesOf(service)
    const references = { images: [image], videos: [loud], audio: [audio] }
    const job = await service.drive(await service.submit({ references }))
    assert.equal(job.status, 'completed')
    const { file_sha256s, unjudged } = await unjudgedOf(service, job.id)
    assert.deepEqual(
      unjudged.map(({ part }: { part: string }) => part),
      parts,
    )
    const hashes = unjudged.map(({ file_sha256 }: { file_sha256: string }) => file_sha256)
    assert.deepEqual(new Set([...file_sha256s, ...hashes]), new Set(job.inputs.map(({ sha256 }) => sha256)))
    assert.equal(file_sha256s.length + hashes.length, 3, 'no file is both')
    if (log) assert.match(describeUnjudged(service.app.ctx)!, log)
    else assert.equal(describeUnjudged(service.app.ctx), null)
  }
})

test('rules let media through unless configured to block, and then refuse them at creation', async () => {
  const service = await stageOf('{ kind: rules }', 'media: block')
  const { image } = await filesOf(service)
  const body = { model: MODEL, references: { images: [image] } }
  assertInvalid(await submit(service.app, service.customer, body), 'references.images', /pictures/)
  assert.equal(describeUnjudged(service.app.ctx), null)
})

test('media that nothing can judge fail their job closed when a setting of after its creation blocks them', async () => {
  const service = await stageOf('{ kind: rules }')
  const { image } = await filesOf(service)
  const job = await service.row(await service.submit({ references: { images: [image] } }))
  const { ctx } = service.app
  const strict: Context = { ...ctx, config: { ...ctx.config, moderation_media: 'block' } }
  const outcome = await moderate(strict, job, new AbortController().signal)
  assert.deepEqual(outcome, { to: 'failed', code: 'moderation_unavailable' })
})

test('a file that is not in the moderation record never reaches an engine', async () => {
  const service = await stageOf('{ kind: rules }')
  const { image } = await filesOf(service)
  const id = await service.submit({ references: { images: [image] } })
  await service.app.database.pool.query(`
    create function forget() returns trigger language plpgsql as $$ begin new.unjudged = '[]'; return new; end $$;
    create trigger forget before insert on moderation_records for each row execute function forget();`)
  const job = await service.drive(id)
  assert.deepEqual([job.error_code, job.attempt], ['internal_error', null])
})

/** An engine whose every call takes `seconds` of a time that passes only when all calls in flight wait. */
function slowEngine(seconds: number) {
  let now = 0
  const waiting: Array<{ at: number; pass(): void }> = []
  const pass = (at: number) => new Promise<void>((resolve) => waiting.push({ at, pass: resolve }))
  const limits: Array<{ at: number; abort: AbortController }> = []
  let most = 0
  mock.method(AbortSignal, 'timeout', (ms: number) => {
    const abort = new AbortController()
    limits.push({ at: now + ms / 1000, abort })
    return abort.signal
  })
  const step = () => {
    most = Math.max(most, waiting.length)
    now = Math.min(...waiting.map(({ at }) => at))
    for (const limit of limits) if (limit.at <= now) limit.abort.abort(new DOMException('late', 'TimeoutError'))
    for (const due of waiting.splice(0)) due.at <= now ? due.pass() : waiting.push(due)
  }
  const moderation: ModerationEngine = {
    sees_images: true,
    media: 'allow',
    async moderate(_input, signal) {
      const done = pass(now + seconds)
      setImmediate(() => waiting.length > 0 && step())
      await done
      signal.throwIfAborted()
      return { verdict: 'allow', categories: [], engine: 'slow', version: '1' }
    },
  }
  return { moderation, spent: () => now, most: () => most }
}

test('eight pictures and two clips pass at three seconds a call, and a call may take as long as its engine allows', async () => {
  for (const [seconds, references] of [
    [3, 'many'],
    [45, 'one'],
  ] as const) {
    const slow = slowEngine(seconds)
    const video = new Map([
      [MODEL, soleEngine({ engine: instantVideo({ kind: 'instant' }), model: MODEL, name: 'instant' })],
    ])
    const translation = { available: false, translate: () => Promise.reject(new EngineError('permanent', 'none')) }
    const engines = { video, moderation: slow.moderation, translation, chat: new Map(), close: async () => {} }
    const service = await startPipelineApp({ model: INSTANT }, { engines })
    open.push(service)
    const count = references === 'many' ? 8 : 1
    const images = await Promise.all(
      Array.from({ length: count }, async (_, i) => ({
        file_id: await upload(service, await samplePicture('png', { width: 64 + i, height: 64 })),
      })),
    )
    const { 'silent.mp4': long } = await sampleMedia(dir, ['silent.mp4'], {
      seconds: 15,
      width: 64,
      height: 48,
      name: 'long',
    })
    const videos = await Promise.all(
      (references === 'many' ? [long, clips['silent.mp4']] : []).map(async (path) => ({
        file_id: await upload(service, readFileSync(path), { purpose: 'video' }),
      })),
    )
    const job = await service.drive(
      await service.submit({ references: { images, ...(videos.length ? { videos } : {}) } }),
    )
    assert.equal(job.status, 'completed', job.error_code ?? '')
    assert.ok(slow.most() <= 4, `${slow.most()} calls at once`)
    assert.ok(slow.spent() >= (references === 'many' ? 21 : 90), `${slow.spent()} s`)
    mock.restoreAll()
  }
})
