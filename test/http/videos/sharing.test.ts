import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { allSweeps } from '../../../server/assembly/background.ts'
import { loadConfig } from '../../../server/config/load.ts'
import { engineMistakes } from '../../../server/engines/registry.ts'
import { openLog } from '../../../server/platform/log.ts'
import {
  INSTANT_CONFIG,
  newColleague,
  newCustomer,
  startApp,
  type TestApp,
  type TestPerson,
} from '../../support/http/app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { assertRefused, submit } from '../../support/http/videos-app.ts'

const CLIP = readFileSync(new URL('../../../server/engines/video/instant.mp4', import.meta.url))
const DAY = 86_400
const PROMPT = 'A secret dragon over the lake'
const UNKNOWN = `/s/${'x'.repeat(43)}`

let app: TestApp
let owner: TestPerson
let admin: TestPerson
let member: TestPerson
let rival: TestPerson
const lines: string[] = []
const tokens: string[] = []
before(async () => {
  const log = openLog('debug', { write: (line) => void lines.push(line) })
  app = await startApp({ config: withSharing('enabled: true'), log })
  owner = await newCustomer(app)
  admin = await newColleague(app, owner.org_id, { role: 'admin' })
  member = await newColleague(app, owner.org_id)
  rival = await newCustomer(app)
})
after(() => app.close())
afterEach(async () => {
  reload('enabled: true')
  assert.deepEqual(await app.audit(), {})
})

function withSharing(sharing: string): string {
  return `${INSTANT_CONFIG}sharing: { ${sharing} }\ntrusted_proxies: [127.0.0.1]\n`
}

function reload(sharing: string): void {
  const path = join(app.dir, 'kinora.yaml')
  writeFileSync(path, withSharing(sharing))
  const next = { config: loadConfig({ config: path, data_dir: app.dir }, {}, engineMistakes), secret: app.ctx.secret }
  app.app.changedBy(next)
  app.app.reload(next)
}

async function clipOf(person: TestPerson): Promise<string> {
  const { id } = (await submit(app, { key: person.key }, { prompt: PROMPT })).body
  await app.tick()
  return id
}

const linksOf = (video: string) => `/console/videos/${video}/share_links`
const share = (person: TestPerson, video: string, body: object = { expires_in_days: 7 }) =>
  send(app, 'POST', linksOf(video), { cookie: person.cookie }, body)
const list = (person: TestPerson, video: string) => send(app, 'GET', linksOf(video), { cookie: person.cookie })
const revoke = (person: TestPerson, id: string) =>
  send(app, 'DELETE', `/console/share_links/${id}`, { cookie: person.cookie })
const open = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  send(app, method, path, { headers })

/** A link to a new clip, with the path of its page. */
async function newLink(person: TestPerson, body?: object) {
  const video = await clipOf(person)
  const { status, body: link, text } = await share(person, video, body)
  assert.equal(status, 200, text)
  const path = new URL(link.url).pathname
  tokens.push(path.slice(3))
  return { video, link, path }
}

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

test('200 with the address once, and in lists only what distinguishes links', async () => {
  const { video, link } = await newLink(owner)
  const { url, ...shown } = link
  const token = url.slice(-43)
  assert.equal(url, `${app.url}/s/${token}`)
  assert.deepEqual(shown, {
    id: link.id,
    object: 'share_link',
    video_id: video,
    hint: token.slice(-4),
    download: false,
    created_at: link.created_at,
    expires_at: link.created_at + 7 * DAY,
  })
  const second = (await share(owner, video, { expires_in_days: 1 })).body
  const { status, body, text } = await list(owner, video)
  assert.equal(status, 200)
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    [second.id, link.id],
  )
  assert.deepEqual(body.data[1], shown)
  assert.ok(!text.includes(token))
  const { rows } = await app.database.pool.query('select * from share_links where id = $1', [link.id])
  assert.ok(!JSON.stringify(rows).includes(token.slice(0, 20)))
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
    ...{ status: 403, code: 'permission_denied', type: 'permission_error', message: /operator can allow it/ },
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

test('400 for a life beyond the operator’s, shorter than a day, or of no number; the field is named', async () => {
  const video = await clipOf(owner)
  reload('enabled: true, days_max: 7')
  assert.equal((await share(owner, video, { expires_in_days: 7 })).status, 200)
  for (const [days, code] of [
    [8, 'integer_above_max_value'],
    [31, 'integer_above_max_value'],
    [0, 'integer_below_min_value'],
    [1.5, 'invalid_type'],
    ['7', 'invalid_type'],
    [undefined, 'missing_required_parameter'],
  ] as const) {
    const answer = await share(owner, video, { expires_in_days: days })
    assertRefused(answer, { status: 400, code, param: 'expires_in_days' })
  }
  const answer = await share(owner, video, { expires_in_days: 1, password: 'x' })
  assertRefused(answer, { status: 400, code: 'unknown_parameter', param: 'password' })
})

test('409 for a clip that is not completed, and beyond 20 links, however many ask at once', async () => {
  const running = (await submit(app, { key: owner.key })).body.id
  assertRefused(await share(owner, running), { status: 409, code: 'conflict', message: /it can be shared once/ })
  await app.tick()
  const video = await clipOf(owner)
  const answers = await Promise.all(Array.from({ length: 25 }, () => share(owner, video)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 20)
  const refused = answers.find(({ status }) => status !== 200)!
  assertRefused(refused, { status: 409, code: 'conflict', message: /Revoke one/ })
  const [first] = (await list(owner, video)).body.data
  await revoke(owner, first.id)
  assert.equal((await share(owner, video)).status, 200)
})

test('403 for a member with a clip of somebody else, whom owners and admins share and unshare for', async () => {
  const denied = { status: 403, code: 'permission_denied', type: 'permission_error', message: /owner or admin/ }
  const { video, link } = await newLink(owner)
  assertRefused(await share(member, video), denied)
  assertRefused(await list(member, video), denied)
  assertRefused(await revoke(member, link.id), denied)
  const theirs = await newLink(member)
  for (const person of [owner, admin]) {
    const made = await share(person, theirs.video)
    assert.equal(made.status, 200)
    assert.equal((await revoke(member, made.body.id)).status, 200)
  }
  assert.equal((await revoke(admin, theirs.link.id)).status, 200)
})

test('404 for clips and links of another organization, as for those that do not exist', async () => {
  const { video, link, path } = await newLink(owner)
  for (const id of [video, 'video_00000000000000000000000000', 'x']) {
    assertRefused(await share(rival, id), { status: 404, code: 'not_found' })
    assertRefused(await list(rival, id), { status: 404, code: 'not_found' })
  }
  for (const id of [link.id, 'share_00000000000000000000000000', 'x'])
    assertRefused(await revoke(rival, id), { status: 404, code: 'not_found' })
  assert.equal((await open(path)).status, 200)
})

test('links made and revoked are in the activity log, without the token and the prompt', async () => {
  const { link } = await newLink(member)
  await revoke(admin, link.id)
  const { body, text } = await send(app, 'GET', '/console/activity', { cookie: owner.cookie })
  const [revoked, made] = body.data
  const details = { name: made.details.name, link: `…${link.hint}` }
  assert.match(details.name, /^instant-1, 4 s, /)
  assert.deepEqual(
    [made, revoked].map(({ action, target, actor, details }) => [action, target, actor.email, details]),
    [
      ['share_link.create', link.id, member.email, details],
      ['share_link.revoke', link.id, admin.email, details],
    ],
  )
  for (const word of ['dragon', ...tokens]) assert.ok(!text.includes(word))
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
