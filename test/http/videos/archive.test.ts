import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { Readable } from 'node:stream'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { assertRefused, MIB, submit } from '../../support/http/videos-app.ts'
import { unzip } from '../../support/zip.ts'

const CLIP = readFileSync(new URL('../../../server/engines/video/instant.mp4', import.meta.url))
const CONFIG = `
plans: { free: { max_concurrent_renders: 100 } }
video_models: [{ id: instant-1, engine: instant, per_second: "0.010000" }]
`

let app: TestApp
let own: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG })
})
after(() => app.close())

async function clips(...prompts: string[]): Promise<string[]> {
  own = await newCustomer(app)
  const ids = []
  for (const prompt of prompts) ids.push((await submit(app, own, { prompt })).body.id)
  for (const id of ids)
    for (let status = ''; status !== 'completed'; ) {
      await app.tick()
      status = (await send(app, 'GET', `/v1/videos/${id}`, own)).body.status
      assert.notEqual(status, 'failed')
    }
  return ids
}

const path = (ids: readonly string[]) => `/console/videos/archive?ids=${ids}`
async function archive(ids: readonly string[], { cookie } = own) {
  const answer = await fetch(app.url + path(ids), { headers: { cookie } })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}
const rename = (ids: readonly string[], name: string) =>
  send(app, 'PATCH', '/console/videos/labels', { cookie: own.cookie }, { ids, name })

/** A clip of so many bytes in the place of the one of a job. */
async function enlarge(id: string, size_bytes: number): Promise<string> {
  const { blobs, db } = app.ctx
  const half = randomBytes(size_bytes / 2)
  const { key, sha256 } = await blobs.write(Readable.from([half, half]), { max_bytes: size_bytes })
  await db
    .updateTable('video_jobs')
    .set({ blob_key: key, output_sha256: sha256, output_size_bytes: BigInt(size_bytes) })
    .where('id', '=', id)
    .execute()
  return key
}

test('200 with every clip under a name of its own that any file system takes, and a manifest', async () => {
  const ids = await clips('A boat', 'A BOAT', 'A/b: <d>Off we go!</d>', 'A lamp', 'Unnamed')
  await rename([ids[4]!], '../Opening | shot')
  await rename([ids[3]!], 'a boat')
  const running = (await submit(app, own, { prompt: 'Later' })).body.id
  const { status, headers, bytes } = await archive([...ids, running, ids[0]!])
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'application/zip')
  assert.equal(headers.get('content-length'), String(bytes.length))
  assert.match(headers.get('content-disposition')!, /^attachment; filename="videos-\d{4}-\d\d-\d\d\.zip"$/)
  assert.equal(headers.get('cache-control'), 'private, no-store')
  const files = unzip(bytes)
  const manifest = JSON.parse(files.get('manifest.json')!.toString())
  files.delete('manifest.json')
  const names = ['A boat.mp4', 'A BOAT (2).mp4', 'A b Off we go!.mp4', 'a boat (3).mp4', 'Opening shot.mp4']
  assert.deepEqual([...files.keys()], names)
  for (const [name, file] of files) assert.ok(file.equals(CLIP), name)
  assert.deepEqual(manifest, {
    videos: names.map((file, at) => ({ id: ids[at], file })),
    left_out: [{ id: running, status: 'moderating' }],
  })
  const head = await send(app, 'HEAD', path(ids), { cookie: own.cookie })
  assert.deepEqual([head.status, head.text], [200, ''])
})

test('other programs read the archive', {
  skip: spawnSync('python3', ['-V']).error && 'there is no python3',
}, async () => {
  const ids = await clips('A boat', 'A lamp')
  await rename([ids[1]!], '夜の灯台')
  const { bytes } = await archive(ids)
  const read =
    'import sys, io, zipfile; z = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read())); print(z.testzip(), z.namelist())'
  const { stdout } = spawnSync('python3', ['-c', read], { input: bytes, env: { PYTHONIOENCODING: 'utf-8' } })
  assert.equal(stdout.toString().trim(), "None ['A boat.mp4', '夜の灯台.mp4', 'manifest.json']")
})

test('a clip whose bytes are lost is left out, and 400 when there is none', async () => {
  const [lost, kept] = (await clips('A boat', 'Two boats')) as [string, string]
  const { blob_key } = await app.ctx.db
    .selectFrom('video_jobs')
    .select('blob_key')
    .where('id', '=', lost)
    .executeTakeFirstOrThrow()
  await app.ctx.blobs.remove(blob_key!)
  const files = unzip((await archive([lost, kept])).bytes)
  assert.deepEqual(JSON.parse(files.get('manifest.json')!.toString()).left_out, [{ id: lost, status: 'completed' }])
  const none = await send(app, 'GET', path([lost]), { cookie: own.cookie })
  assertRefused(none, {
    status: 400,
    code: 'invalid_request_error',
    param: 'ids',
    message: /None of these videos has a clip/,
  })
})

test('404 for a video of another organization, 400 for too many, 401 without a login', async () => {
  const [theirs] = (await clips('A boat')) as [string]
  const [mine] = (await clips('My boat')) as [string]
  const none = theirs.replace(/.{26}$/, '0'.repeat(26))
  const answers = await Promise.all(
    [theirs, none, 'x'].map((id) => send(app, 'GET', path([mine, id]), { cookie: own.cookie })),
  )
  for (const { status, body } of answers) assert.deepEqual([status, body], [404, answers[1]!.body])
  const many = Array.from({ length: 101 }, (_, at) => `video_${at}`)
  assertRefused(await send(app, 'GET', path(many), { cookie: own.cookie }), {
    status: 400,
    code: 'invalid_value',
    param: 'ids',
  })
  assert.equal((await send(app, 'GET', path([mine]))).status, 401)
})

test('clips are read no faster than they are taken, and no longer once the client has left; others wait for their turn', async () => {
  const ids = await clips('A boat', 'Two boats')
  const keys = [await enlarge(ids[0]!, 64 * MIB), await enlarge(ids[1]!, 64 * MIB)]
  const opened = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return keys.some((key) => readlinkSync(`/proc/self/fd/${fd}`).includes(key))
      } catch {
        return false
      }
    }).length
  const left = new AbortController()
  const readers = await Promise.all(
    Array.from({ length: 4 }, () =>
      fetch(app.url + path(ids), { headers: { cookie: own.cookie }, signal: left.signal }),
    ),
  )
  const { rss } = process.memoryUsage()
  const bodies = readers.map(({ body }) => body!.getReader())
  for (const body of bodies) assert.equal((await body.read()).done, false)
  const fifth = archive([ids[0]!])
  // As many as are sent: the fifth does not begin.
  while (opened() < 4) await new Promise(setImmediate)
  for (let turn = 0; turn < 1000; turn++) {
    assert.ok(opened() <= 4)
    await new Promise(setImmediate)
  }
  assert.ok(process.memoryUsage().rss - rss < 200 * MIB)
  left.abort()
  const { bytes } = await fifth
  assert.equal(unzip(bytes).get('A boat.mp4')!.length, 64 * MIB)
  while (opened() > 0) await new Promise(setImmediate)
})
