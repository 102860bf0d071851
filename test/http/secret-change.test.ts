import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { signFileUrl } from '../../server/files/sign.ts'
import { findFiles } from '../../server/files/store/files.ts'
import { samplePicture } from '../support/data/media.ts'
import { type TestApp, videoBody } from '../support/http/app.ts'
import { type ChatApp, startChatApp } from '../support/http/chat-app.ts'
import { browserOf } from '../support/http/people.ts'
import { replyOf } from '../support/http/response-requests.ts'
import { type HttpResponse, send } from '../support/http/send.ts'
import { changeSecret, type SecretChange } from '../support/sites/secret-change.ts'
import { textFrames } from '../support/upstream/chat-upstream.ts'

/** `thinker` takes what it thought before. */
const MODELS = [{ id: 'thinker', engine: { developer_role: true, reasoning_content_input: true } }]

let service: ChatApp
let old: TestApp
let change: SecretChange
before(async () => {
  service = await startChatApp(MODELS)
  old = service.app
  change = await changeSecret(old)
})
after(async () => {
  await change.close()
  await service.close()
})

test('a console session begun under the previous secret goes on, and one begun since needs the new secret alone', async () => {
  const [earlier, later] = [await browserOf(old, service.person), await browserOf(change.after, service.person)]
  assert.deepEqual(await sessions(earlier), [200, 200, 401])
  assert.deepEqual(await sessions(later), [401, 200, 200])
  const renamed = await send(change.after, 'PATCH', '/console/profile', earlier, { name: 'Aki' })
  assert.equal(renamed.status, 200, JSON.stringify(renamed.body))
})

test('a link to a file signed under the previous secret works until it is removed', async () => {
  const link = await signedLink(old)
  const fetched = async (app: TestApp) => (await fetch(app.url + link)).status
  assert.deepEqual([await fetched(change.after), await fetched(change.settled)], [200, 403])
  const renewed = await signedLink(change.after)
  assert.equal((await fetch(change.settled.url + renewed)).status, 200)
})

test('reasoning sealed under the previous secret is given to the model, and sealed again with the new one', async () => {
  const input = [
    { role: 'user', content: 'Hi' },
    ...(await think(old, 'I looked at x.')),
    { role: 'user', content: 'So?' },
  ]
  assert.match(await answerTo(change.after, input), /I looked at x\./)
  assert.doesNotMatch(await answerTo(change.settled, input), /I looked at x\./)
  const since = [...input.slice(0, 1), ...(await think(change.after, 'I looked at y.')), ...input.slice(-1)]
  assert.match(await answerTo(change.settled, since), /I looked at y\./)
})

test('a conversation compacted under the previous secret goes on, and compacted again it needs the new one alone', async () => {
  const compacted = await compact(old, [{ role: 'user', content: 'Look at x.' }], 'x is 7.')
  const input = [...compacted, { role: 'user', content: 'Go on.' }]
  assert.match(await answerTo(change.after, input), /x is 7\./)
  const without = await createResponse(change.settled, input)
  assert.deepEqual([without.status, without.headers.get('x-dropped-items')], [200, 'compaction'])
  const again = await compact(change.after, input, 'x is still 7.')
  assert.match(await answerTo(change.settled, [...again, { role: 'user', content: 'And?' }]), /x is still 7\./)
})

test('an idempotent request sent again after the change is replayed, and with another body refused', async () => {
  const [key, since] = [randomUUID(), randomUUID()]
  const first = await submit(old, key)
  assert.equal(first.status, 200, JSON.stringify(first.body))
  const again = await submit(change.after, key)
  assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
  assert.deepEqual(again.body, first.body)
  const other = await submit(change.after, key, { seconds: 5 })
  assert.deepEqual([other.status, other.body.error.code], [422, 'idempotency_key_reused'])

  const later = await submit(change.after, since)
  assert.deepEqual((await submit(change.settled, since)).body, later.body)
})

test('a running process that is given the new secret accepts what it made under the previous one', async () => {
  const [browser, link] = [await browserOf(old, service.person), await signedLink(old)]
  const input = [
    { role: 'user', content: 'Hi' },
    ...(await think(old, 'I looked at z.')),
    { role: 'user', content: 'So?' },
  ]
  const { config, secret } = old.ctx
  old.app.reload({ config: { ...config, previous_secrets: [secret] }, secret: change.settled.secret })
  assert.deepEqual((await sessions(browser))[0], 200)
  assert.equal((await fetch(old.url + link)).status, 200)
  assert.match(await answerTo(old, input), /I looked at z\./)
  assert.equal((await fetch(change.settled.url + (await signedLink(old)))).status, 200)
})

function sessions(browser: { cookie: string }): Promise<number[]> {
  const apps = [old, change.after, change.settled]
  return Promise.all(apps.map(async (app) => (await send(app, 'GET', '/console/session', browser)).status))
}

/** Path and query of a link, as `app` gives it to an engine. */
async function signedLink(app: TestApp): Promise<string> {
  const form = new FormData()
  form.set('purpose', 'vision')
  form.set('file', new Blob([new Uint8Array(await samplePicture('png'))]), 'a.png')
  const headers = { authorization: `Bearer ${service.person.key}` }
  const uploaded = await fetch(`${app.url}/v1/files`, { method: 'POST', headers, body: form })
  const { id } = (await uploaded.json()) as { id: string }
  const now = app.ctx.clock.now()
  const file = (await findFiles(app.ctx.db, { org_id: service.person.org_id, ids: [id], now })).get(id)!
  return signFileUrl({ secret: app.ctx.secret, base_url: '', file, now, ttl_seconds: 900 })
}

/** What a model that thinks `text` answers, reasoning sealed. */
async function think(app: TestApp, text: string): Promise<object[]> {
  service.upstream.reply(replyOf([{ reasoning_content: text }, { content: 'Seen.' }]))
  const answer = await createResponse(app, 'Look.', { include: ['reasoning.encrypted_content'], store: false })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body.output
}

async function compact(app: TestApp, input: object[], summary: string): Promise<object[]> {
  service.upstream.reply({ kind: 'stream', frames: textFrames([summary]) })
  const body = { model: 'thinker', input }
  const answer = await send(app, 'POST', '/v1/responses/compact', { key: service.person.key }, body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body.output
}

/** What the model server is asked for this input, as text. */
async function answerTo(app: TestApp, input: object[]): Promise<string> {
  service.upstream.reply(replyOf([{ content: 'Yes.' }]))
  const answer = await createResponse(app, input)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return JSON.stringify(service.asked().messages)
}

function createResponse(app: TestApp, input: unknown, more: object = {}): Promise<HttpResponse> {
  return send(app, 'POST', '/v1/responses', { key: service.person.key }, { model: 'thinker', input, ...more })
}

function submit(app: TestApp, key: string, changes: Record<string, unknown> = {}): Promise<HttpResponse> {
  const caller = { key: service.person.key, headers: { 'idempotency-key': key } }
  return send(app, 'POST', '/v1/videos', caller, videoBody(changes))
}
