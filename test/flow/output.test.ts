import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { EngineError } from '../../server/engines/engine-error.ts'
import type { VideoEngine } from '../../server/engines/video/contract.ts'
import { instantVideo } from '../../server/engines/video/instant.ts'
import { soleEngine } from '../../server/engines/video/pool.ts'
import { ChildError } from '../../server/media/children/run.ts'
import { runFfmpeg } from '../../server/media/ffmpeg/run.ts'
import { factsOf } from '../support/data/clip.ts'
import { sampleMedia } from '../support/data/media.ts'
import type { Fault } from '../support/upstream/engine-server/faults.ts'
import { COST, MODEL, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

let service: PipelineApp
let dir: string
const CLIP = readFileSync(new URL('../../server/engines/video/instant.mp4', import.meta.url))
before(async () => {
  service = await startPipelineApp()
  dir = mkdtempSync(join(tmpdir(), 'kinora-output-'))
})
after(async () => {
  await service.close()
  rmSync(dir, { recursive: true, force: true })
})
afterEach(async () => {
  service.engines.unscript()
  service.engines.conduct({ polls: 0, output: CLIP })
  assert.deepEqual(await service.app.audit(), {})
})

const CONTENT = { method: 'GET', path: /\/content$/ } as const
const HTML = Buffer.from('<!doctype html><title>502</title>')

/** Renders a job whose clip is `output` and returns how it ended, what it cost, and how many files are left of it. */
async function rendered(output: Buffer = CLIP) {
  const before = { ...(await service.balance()), stored: await service.stored() }
  service.engines.conduct({ output })
  const id = await service.submit()
  const job = await service.drive(id)
  const { balance, held } = await service.balance()
  assert.equal(held, 0n)
  return {
    id,
    ends: job.error_code ?? job.status,
    paid: before.balance - balance,
    files: (await service.stored()) - before.stored,
  }
}

const USELESS: Record<string, Buffer> = {
  'no bytes': Buffer.alloc(0),
  HTML,
  'half a clip': CLIP.subarray(0, CLIP.length / 2),
  'the head of a clip': CLIP.subarray(0, 64),
  noise: Buffer.alloc(5000, 'noise'),
  'a picture': Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
}

test('an output that is not a video fails the job with render_failed, costs nothing and leaves no bytes behind', async () => {
  for (const [name, output] of Object.entries(USELESS)) {
    const { ends, paid, files } = await rendered(output)
    assert.deepEqual([ends, paid, files], ['render_failed', 0n, 0], name)
  }
})

test('a clip shorter than four fifths of what was asked for fails the job with render_failed and costs nothing', async () => {
  for (const [seconds, ends, charged] of [
    [3, 'render_failed', 0n],
    [3.4, 'completed', COST],
  ] as const) {
    const clip = { seconds, width: 1366, height: 768, rate: 5, name: `long-${seconds}` }
    const { mp4 } = await sampleMedia(dir, ['mp4'], clip)
    const found = await rendered(readFileSync(mp4))
    assert.deepEqual([found.ends, found.paid], [ends, charged], `${seconds} s`)
  }
  assert.equal((await service.drive(await service.submit({ seconds: 15 }))).error_code, 'render_failed')
})

test('a picture of one second under the sound of all seconds ordered is a short clip too', async () => {
  const path = join(dir, 'one-second.mp4')
  const picture = ['-f', 'lavfi', '-i', 'testsrc=s=1366x768:r=5:d=1', '-f', 'lavfi', '-i', 'sine=d=4']
  const codecs = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac', 'clip.mp4']
  await runFfmpeg(
    { inputs: {}, args: [...picture, ...codecs], outputs: { 'clip.mp4': path } },
    { time_limit_seconds: 60 },
  )
  const { ends, paid, files } = await rendered(readFileSync(path))
  assert.deepEqual([ends, paid, files], ['render_failed', 0n, 0])
})

const PASSING: Record<string, Fault> = {
  reset: { kind: 'reset' },
  'cut in the middle': { kind: 'cut' },
  'length wrong': { kind: 'wrong_length' },
  garbage: { kind: 'garbage' },
  '500': { kind: 'status', status: 500 },
  '403': { kind: 'status', status: 403 },
  '404': { kind: 'status', status: 404 },
  'an HTML page': { kind: 'status', status: 200, body: HTML.toString(), headers: { 'content-type': 'text/html' } },
  'a private address': { kind: 'status', status: 302, headers: { location: 'http://127.0.0.1:1/clip.mp4' } },
}

test('a clip that cannot be fetched is fetched again: the job completes, with one charge and one file', async () => {
  for (const [name, fault] of Object.entries(PASSING)) {
    service.engines.script({ ...CONTENT, times: 2, fault })
    const { ends, paid, files } = await rendered()
    assert.deepEqual([ends, paid, files], ['completed', COST, 1], name)
  }
})

test('a clip that can never be fetched fails the job after an hour and costs nothing', async () => {
  service.engines.script({ ...CONTENT, times: 9999, fault: { kind: 'cut' } })
  const { ends, paid, files } = await rendered()
  assert.deepEqual([ends, paid, files], ['render_failed', 0n, 0])
})

test('a decoder that is killed or takes too long says nothing about the clip: it is tried again for longer than a bad one', async () => {
  const { blobs } = service.app.ctx
  const { withLocalFile } = blobs
  const slow_until = service.app.clock.now().getTime() + 600_000
  blobs.withLocalFile = async <T>(
    ...args: [blob: Parameters<typeof withLocalFile>[0], use: (path: string) => Promise<T>]
  ): Promise<T> => {
    if (service.app.clock.now().getTime() < slow_until) throw new ChildError('time_limit', 'The work took too long.')
    return withLocalFile(...args)
  }
  try {
    const { ends, paid } = await rendered()
    assert.deepEqual([ends, paid], ['completed', COST])
  } finally {
    blobs.withLocalFile = withLocalFile
  }
})

test('a clip without sound gets silence, one of another size is scaled to 768p; only the repaired one is kept', async () => {
  const { 'silent.mp4': silent } = await sampleMedia(dir, ['silent.mp4'], {
    seconds: 4,
    width: 320,
    height: 180,
    rate: 5,
    name: 'small',
  })
  const { id, ends, paid, files } = await rendered(readFileSync(silent))
  assert.deepEqual([ends, paid, files], ['completed', COST, 1])
  const path = join(dir, 'repaired.mp4')
  const response = await fetch(`${service.app.url}/v1/videos/${id}/content`, {
    headers: { authorization: `Bearer ${service.customer.key}` },
  })
  writeFileSync(path, Buffer.from(await response.arrayBuffer()))
  const facts = await factsOf(path)
  assert.deepEqual(
    [facts.size, facts.codecs],
    [
      [1366, 768],
      ['avc', 'aac'],
    ],
  )
})

/** The instant engine, with one member replaced. */
async function startWithEngine(change: Partial<VideoEngine>): Promise<PipelineApp> {
  const engine = { ...instantVideo({ kind: 'instant' }), ...change }
  const moderation = {
    sees_images: false,
    media: 'allow' as const,
    moderate: async () => ({ verdict: 'allow' as const, categories: [], engine: 't', version: '1' }),
  }
  const translation = { available: false, translate: () => Promise.reject(new EngineError('permanent', 'none')) }
  const video = new Map([[MODEL, soleEngine({ engine, model: MODEL, name: 'instant' })]])
  return startPipelineApp({}, { engines: { video, moderation, translation, chat: new Map(), close: async () => {} } })
}

test('a clip of more than a gigabyte is aborted during the download, costs nothing and leaves no bytes behind', async () => {
  const chunk = new Uint8Array(16 * 1024 * 1024)
  let sent = 0
  const other = await startWithEngine({
    fetch: async () =>
      new ReadableStream({
        pull(controller) {
          sent += 1
          controller.enqueue(chunk)
        },
      }),
  })
  const job = await other.drive(await other.submit())
  assert.equal(job.error_code, 'render_failed')
  assert.ok(sent < 80, `${sent} chunks were taken`)
  assert.equal(await other.stored(), 0)
  assert.equal((await other.balance()).charges, 0)
  await other.close()
})
