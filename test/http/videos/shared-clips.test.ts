import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, afterEach, before, test } from 'node:test'
import { allSweeps } from '../../../server/assembly/background.ts'
import { openLog } from '../../../server/platform/log.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { assertRefused } from '../../support/http/videos-app.ts'
import { DAY, PROMPT, shareLinks, withSharing } from './share-links.ts'

const CLIP = readFileSync(new URL('../../../server/engines/video/instant.mp4', import.meta.url))
const UNKNOWN = `/s/${'x'.repeat(43)}`

let app: TestApp
let owner: TestPerson
let rival: TestPerson
const lines: string[] = []
before(async () => {
  const log = openLog('debug', { write: (line) => void lines.push(line) })
  app = await startApp({ config: withSharing('enabled: true'), log })
  owner = await newCustomer(app)
  rival = await newCustomer(app)
})
after(() => app.close())
afterEach(async () => {
  reload('enabled: true')
  assert.deepEqual(await app.audit(), {})
})

const { tokens, reload, clipOf, share, list, revoke, open, newLink } = shareLinks(() => app)

/** What two requests for nothing differ in is taken out: the id of the request, the time, and what was asked for. */
function shownOf({ status, headers, text }: HttpResponse, path: string) {
  const { date: _, 'x-request-id': __, ...rest } = Object.fromEntries(headers)
  return { status, headers: rest, text: text.replaceAll(path, '<path>') }
}

async function assertEnded(path: string): Promise<void> {
  const nothing = shownOf(await open(UNKNOWN), UNKNOWN)
  assert.equal(nothing.status, 404)
  assert.match(nothing.text, /This link has expired or was revoked/)
  assert.deepEqual(shownOf(await open(path), path), nothing)
  assert.deepEqual(shownOf(await open(`${path}/content`), path), nothing)
}

test('200 with a page that plays the clip and says neither whose it is nor what was asked for', async () => {
  const { video, path } = await newLink(owner)
  const { status, headers, text } = await open(path)
  assert.equal(status, 200)
  const { date: _, 'x-request-id': __, 'content-length': ___, ...rest } = Object.fromEntries(headers)
  assert.deepEqual(rest, {
    'cache-control': 'private, no-store',
    connection: 'keep-alive',
    'content-security-policy':
      "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; media-src 'self'",
    'content-type': 'text/html; charset=utf-8',
    'keep-alive': 'timeout=75',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex',
  })
  assert.ok(text.includes(`<video src="${path}/content"`))
  for (const word of [PROMPT, video, owner.org_id, owner.email, ' download=', 'href="/"'])
    assert.ok(!text.includes(word), word)
  const japanese = await open(path, { 'accept-language': 'ja' })
  assert.match(japanese.text, /<html lang="ja">.*<h1>共有された動画/s)
})

test('200 with a button to download only on links that offer it', async () => {
  const { link, path } = await newLink(owner, { expires_in_days: 1, download: true })
  assert.equal(link.download, true)
  assert.ok((await open(path)).text.includes(`href="${path}/content" download="video.mp4"`))
})

test('200, 206, 304 and 416 of the clip as its owner gets them, and HEAD without bytes', async () => {
  const { path } = await newLink(owner)
  const content = async (headers: Record<string, string> = {}, method = 'GET') => {
    const answer = await fetch(`${app.url}${path}/content`, { method, headers })
    return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
  }
  const whole = await content()
  assert.equal(whole.status, 200)
  assert.ok(whole.bytes.equals(CLIP))
  const { date: _, 'x-request-id': __, etag, ...rest } = Object.fromEntries(whole.headers)
  assert.deepEqual(rest, {
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-store',
    connection: 'keep-alive',
    'content-disposition': 'inline',
    'content-length': String(CLIP.length),
    'content-security-policy': "default-src 'none'; sandbox",
    'content-type': 'video/mp4',
    'keep-alive': 'timeout=75',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex',
  })
  const part = await content({ range: 'bytes=10-99' })
  assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes 10-99/${CLIP.length}`])
  assert.ok(part.bytes.equals(CLIP.subarray(10, 100)))
  const head = await content({}, 'HEAD')
  assert.deepEqual([head.status, head.bytes.length, head.headers.get('content-length')], [200, 0, String(CLIP.length)])
  assert.equal((await content({ 'if-none-match': etag! })).status, 304)
  assert.equal((await content({ range: `bytes=${CLIP.length}-` })).status, 416)
  assert.equal((await open(path, {}, 'HEAD')).status, 200)
})

test('404 for a link that has ended, to the second, and its row is swept', async (t) => {
  t.after(() => app.clock.set(new Date()))
  const { path, link, video } = await newLink(owner, { expires_in_days: 1 })
  app.clock.set(new Date(app.clock.now().getTime() + DAY * 1000 - 1))
  assert.equal((await open(path)).status, 200)
  app.clock.advance(1)
  await assertEnded(path)
  assert.deepEqual((await list(await signedIn(), video)).body.data, [])
  for (const sweep of allSweeps(app.ctx, app.ctx.db)) if (sweep.name === 'videos.records') await sweep.run()
  const { rows } = await app.database.pool.query('select id from share_links where id = $1', [link.id])
  assert.deepEqual(rows, [])
})

/** Somebody of the organization whose login is of now. */
const signedIn = () => newColleague(app, owner.org_id, { role: 'admin', agreed: false })

test('a link ends with its clip, 30 days after that was completed', async (t) => {
  t.after(() => app.clock.set(new Date()))
  const video = await clipOf(owner)
  const { completed_at } = (await send(app, 'GET', `/v1/videos/${video}`, { key: owner.key })).body
  app.clock.advance(10 * DAY)
  const { body } = await share(await signedIn(), video, { expires_in_days: 30 })
  assert.equal(body.expires_at, completed_at + 30 * DAY)
  app.clock.advance(20 * DAY + 1)
  assertRefused(await share(await signedIn(), video), { status: 404, code: 'not_found' })
})

test('404 for a revoked link at once, and every other link of the clip works on', async () => {
  const { video, link, path } = await newLink(owner)
  const other = new URL((await share(owner, video)).body.url).pathname
  assert.deepEqual((await revoke(owner, link.id)).body, { id: link.id, object: 'share_link', deleted: true })
  await assertEnded(path)
  assert.equal((await open(other)).status, 200)
  assertRefused(await revoke(owner, link.id), { status: 404, code: 'not_found' })
})

test('404 once the clip is deleted', async () => {
  const { video, path } = await newLink(owner)
  assert.equal((await send(app, 'DELETE', `/v1/videos/${video}`, { key: owner.key })).status, 200)
  await assertEnded(path)
})

test('404 for a clip whose bytes are gone', async () => {
  const { video, path } = await newLink(owner)
  const { rows } = await app.database.pool.query('select blob_key from video_jobs where id = $1', [video])
  await app.ctx.blobs.remove(rows[0].blob_key)
  const nothing = shownOf(await open(UNKNOWN), UNKNOWN)
  assert.deepEqual(shownOf(await open(`${path}/content`), path), nothing)
})

test('404 while the operator allows no sharing, without a restart; links can still be seen and revoked', async () => {
  const { video, link, path } = await newLink(owner)
  reload('enabled: false')
  await assertEnded(path)
  assertRefused(await share(owner, video), {
    status: 403,
    code: 'permission_denied',
    type: 'permission_error',
    message: /operator can allow it/,
  })
  assert.equal((await list(owner, video)).body.data.length, 1)
  assert.equal((await send(app, 'GET', '/console/site')).body.sharing, null)
  reload('enabled: true, days_max: 7')
  assert.equal((await open(path)).status, 200)
  assert.deepEqual((await send(app, 'GET', '/console/site')).body.sharing, { days_max: 7 })
  reload('enabled: false')
  assert.equal((await revoke(owner, link.id)).status, 200)
})

test('404 for every token that was never made, however it is written', async () => {
  const { path } = await newLink(owner)
  for (const wrong of [
    path.slice(0, -1),
    `${path}x`,
    path.toLowerCase(),
    '/s/x',
    '/s/%27%3Cb%3E',
    `/s/${'a'.repeat(500)}`,
  ]) {
    const answer = await open(wrong)
    assert.equal(answer.status, 404, wrong)
    assert.match(answer.text, /This link has expired or was revoked/)
    assert.ok(!answer.text.includes('<b>'))
  }
})

test('viewers of share links have 64 places of their own, 16 for a network: the organization itself never waits for them', async (t) => {
  const { video, path } = await newLink(owner)
  const { path: foreign } = await newLink(rival)
  const { send: sendBlob } = app.ctx.blobs
  t.after(() => {
    app.ctx.blobs.send = sendBlob
  })
  const begun: Array<() => void> = []
  let wanted = { count: 16, ...Promise.withResolvers<void>() }
  app.ctx.blobs.send = async (...given) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (begun.push(resolve) === wanted.count) wanted.resolve()
    await promise
    return sendBlob(...given)
  }
  const from = (network: number) => open(`${path}/content`, { 'x-forwarded-for': `203.0.113.${network}` })
  const viewers = Array.from({ length: 40 }, () => from(1))
  await wanted.promise
  // Answered after they have arrived.
  assert.equal((await open(`${path}/content`, {}, 'HEAD')).status, 200)
  assert.equal(begun.length, 16)
  wanted = { count: 64, ...Promise.withResolvers<void>() }
  viewers.push(...Array.from({ length: 49 }, (_, i) => from(2 + i)))
  await wanted.promise
  assert.equal((await open(`${path}/content`, {}, 'HEAD')).status, 200)
  assert.equal(begun.length, 64)
  app.ctx.blobs.send = sendBlob
  assert.equal((await send(app, 'GET', `/v1/videos/${video}/content`, { key: owner.key })).status, 200)
  assert.equal((await open(`${foreign}/content`)).status, 200)
  for (const release of begun) release()
  for (const { status } of await Promise.all(viewers)) assert.equal(status, 200)
})

test('no line of the log holds a token, and requests are named by their route', async () => {
  const { path } = await newLink(owner)
  await open(path)
  await open(`${path}/content`)
  await open(path, {}, 'DELETE')
  await open(`${path}/nothing`)
  await open(`/${path}/content`, { range: 'bytes=999999999-' })
  app.ctx.log.warn('probe', { detail: `GET ${path} failed`, error: new Error(`of ${path}/content`) })
  const routes = () => lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'request')
  const to = (route: string) => routes().filter((line) => line.route === route).length
  while (to('/s/:token') < 2 || to('/s/:token/content') < 2) await new Promise(setImmediate)
  assert.ok(lines.some((line) => line.includes('GET /s/… failed')))
  assert.ok(tokens.length > 10)
  for (const token of tokens) assert.ok(!lines.some((line) => line.includes(token.slice(0, 20))))
})
