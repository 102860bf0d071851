import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { Route } from '../../server/identity/caller/route.ts'
import {
  INSTANT_CONFIG,
  newColleague,
  newCustomer,
  startApp,
  type TestApp,
  type TestPerson,
} from '../support/http/app.ts'
import { type Caller, send } from '../support/http/send.ts'
import { storedFile, submit } from '../support/http/videos-app.ts'
import { SETTINGS } from './conversations/conversation-settings.ts'
import { storeResponse } from './responses/stored-responses.ts'

/** What one organization owns, by kind of id. */
type Things = {
  video: string
  running: string
  file: string
  key: string
  member: string
  invitation: string
  session: string
  response: string
  conversation: string
  webhook: string
  share_link: string
}

/** What is one person's own, and who of the same organization has no access to it. */
const PRIVATE: Partial<Record<keyof Things, 'owner' | 'member'>> = {
  response: 'member',
  session: 'owner',
  conversation: 'member',
}

/** How a route with an id is tried: the parameter's kind, and a body that its shape accepts. */
type Entry = { id: keyof Things; body?: unknown }

/**
 * Every route that takes an id, in its path, its query or its body. A route that is missing here fails the test: whoever adds
 * one says what kind of id it takes, and it is tried with another organization's.
 */
const ROUTES: Readonly<Record<string, Entry>> = {
  'GET /v1/videos/:video_id': { id: 'video' },
  'GET /v1/videos/:video_id/content': { id: 'video' },
  'POST /v1/videos/:video_id/cancel': { id: 'running' },
  'DELETE /v1/videos/:video_id': { id: 'video' },
  'GET /v1/files/:file_id': { id: 'file' },
  'GET /v1/files/:file_id/content': { id: 'file' },
  'GET /v1/files/:file_id/signed': { id: 'file' },
  'GET /v1/files/:file_id/signed/:name': { id: 'file' },
  'DELETE /v1/files/:file_id': { id: 'file' },
  'GET /v1/responses/:response_id': { id: 'response' },
  'GET /v1/responses/:response_id/input_items': { id: 'response' },
  'POST /v1/responses/:response_id/cancel': { id: 'response' },
  'DELETE /v1/responses/:response_id': { id: 'response' },
  'GET /v1/webhook_endpoints/:webhook_endpoint_id': { id: 'webhook' },
  'POST /v1/webhook_endpoints/:webhook_endpoint_id': { id: 'webhook', body: { name: 'Taken' } },
  'DELETE /v1/webhook_endpoints/:webhook_endpoint_id': { id: 'webhook' },
  'POST /v1/webhook_endpoints/:webhook_endpoint_id/rotate_secret': { id: 'webhook', body: {} },
  'POST /v1/webhook_endpoints/:webhook_endpoint_id/test': { id: 'webhook', body: { event_type: 'video.completed' } },
  'GET /v1/webhook_endpoints/:webhook_endpoint_id/deliveries': { id: 'webhook' },
  'GET /v1/webhook_endpoints/:webhook_endpoint_id/deliveries/:event_id': { id: 'webhook' },
  'POST /v1/webhook_endpoints/:webhook_endpoint_id/redeliver': { id: 'webhook', body: { since: 0 } },
  'POST /console/videos/:video_id/last_frame': { id: 'video' },
  'GET /console/videos/:video_id/origin': { id: 'video' },
  'GET /console/conversations/:conversation_id': { id: 'conversation' },
  'GET /console/conversations/:conversation_id/turns': { id: 'conversation' },
  'PATCH /console/conversations/:conversation_id': { id: 'conversation', body: { title: 'Taken' } },
  'DELETE /console/conversations/:conversation_id': { id: 'conversation' },
  'GET /console/videos/:video_id/share_links': { id: 'video' },
  'POST /console/videos/:video_id/share_links': { id: 'video', body: { expires_in_days: 1 } },
  'DELETE /console/share_links/:share_link_id': { id: 'share_link' },
  'DELETE /console/api_keys/:id': { id: 'key' },
  'PATCH /console/members/:user_id': { id: 'member', body: { role: 'admin' } },
  'DELETE /console/members/:user_id': { id: 'member' },
  'DELETE /console/invitations/:id': { id: 'invitation' },
  'DELETE /console/sessions/:id': { id: 'session' },
}

let app: TestApp
let acme: { owner: TestPerson; member: TestPerson; things: Things }
let rival: { owner: TestPerson; member: TestPerson; things: Things }
before(async () => {
  app = await startApp({ config: `${INSTANT_CONFIG}sharing: { enabled: true }\n` })
  acme = await organization()
  rival = await organization()
  await app.tick()
  for (const { owner, things } of [acme, rival]) {
    things.running = (await submit(app, owner)).body.id
    const links = `/console/videos/${things.video}/share_links`
    things.share_link = (await send(app, 'POST', links, { cookie: owner.cookie }, { expires_in_days: 1 })).body.id
  }
})
after(() => app.close())
afterEach(async () => assert.deepEqual(await app.audit(), {}))

async function organization() {
  const owner = await newCustomer(app)
  const member = await newColleague(app, owner.org_id)
  const browser = { cookie: owner.cookie }
  const video = (await submit(app, owner)).body.id
  const invited = await send(app, 'POST', '/console/invitations', browser, {
    email: `${owner.user_id}@x.example`,
    role: 'member',
  })
  const made = await send(app, 'POST', '/console/api_keys', browser, { name: 'spare' })
  const hook = { name: 'Theirs', url: 'https://example.com/', event_types: ['video.completed'] }
  const webhook = (await send(app, 'POST', '/v1/webhook_endpoints', { key: owner.key }, hook)).body.id
  const file = await storedFile(app, owner)
  const begun = await send(app, 'POST', '/console/conversations', browser, { title: 'Theirs', settings: SETTINGS })
  const session = (await send(app, 'GET', '/console/sessions', { cookie: member.cookie })).body.data[0].id
  return {
    owner,
    member,
    things: {
      video,
      running: '',
      share_link: '',
      file,
      key: made.body.id,
      member: member.user_id,
      invitation: invited.body.id,
      response: (await storeResponse(app, owner)).id,
      session,
      conversation: begun.body.id,
      webhook,
    },
  }
}

const nameOf = ({ method, path }: Route) => `${method} ${path}`
/** The token of a share link is no id: whoever has it may see the clip. */
const withParams = () => app.app.routes.filter(({ path }) => path.includes(':') && !path.startsWith('/s/:token'))

/** An id of the same form that nobody has. */
const missing = (id: string) => id.replace(/[0-9A-Z]{26}$|[0-9a-f]{48}$/, (end) => '0'.repeat(end.length))

/** Status, body and headers with the id and what differs between any two answers taken out. */
async function seen(endpoint: Route, id: string, caller: Caller) {
  const path = endpoint.path.replace(/:\w+/, id)
  const answer = await send(app, endpoint.method, path, caller, ROUTES[nameOf(endpoint)]!.body)
  const { date: _, 'x-request-id': request_id, ...headers } = Object.fromEntries(answer.headers)
  assert.match(request_id ?? '', /^req_/)
  return JSON.parse(JSON.stringify({ status: answer.status, body: answer.body, headers }).replaceAll(id, '<id>'))
}

/** The credentials a route takes: both where it takes both. */
function callersOf(endpoint: Route, person: TestPerson): Caller[] {
  const browser = { cookie: person.cookie }
  const key = { key: person.key }
  if (endpoint.auth === 'signed_url') return [{}]
  if (endpoint.auth === 'session') return [browser]
  return endpoint.auth === 'api_key' ? [key] : [key, browser]
}

test('every route with an id has its entry here, and every entry its route', () => {
  assert.deepEqual(withParams().map(nameOf).sort(), Object.keys(ROUTES).sort())
})

test("what another organization, or person, owns cannot be distinguished from what does not exist, by nobody's credential, on any route", async () => {
  for (const endpoint of withParams()) {
    const kind = ROUTES[nameOf(endpoint)]!.id
    const colleague = PRIVATE[kind]
    for (const person of [rival.owner, rival.member, ...(colleague ? [acme[colleague]] : [])]) {
      for (const caller of callersOf(endpoint, person)) {
        const foreign = await seen(endpoint, acme.things[kind], caller)
        const none = await seen(endpoint, missing(acme.things[kind]), caller)
        assert.deepEqual(foreign, none, nameOf(endpoint))
        assert.ok([403, 404].includes(foreign.status), `${nameOf(endpoint)} answered ${foreign.status}`)
      }
    }
  }
})

test('nothing another organization tried has changed anything', async () => {
  const { owner, things } = acme
  const browser = { cookie: owner.cookie }
  for (const [path, status] of [
    [`/v1/videos/${things.video}`, 'completed'],
    [`/v1/videos/${things.running}`, 'moderating'],
  ] as const) {
    assert.equal((await send(app, 'GET', path, owner)).body.status, status)
  }
  for (const path of [`/v1/files/${things.file}`, `/v1/responses/${things.response}`]) {
    assert.equal((await send(app, 'GET', path, { key: owner.key })).status, 200)
  }
  const kept = await send(app, 'GET', `/console/conversations/${things.conversation}`, browser)
  assert.deepEqual([kept.status, kept.body.title], [200, 'Theirs'])
  const hook = await send(app, 'GET', `/v1/webhook_endpoints/${things.webhook}`, { key: owner.key })
  assert.deepEqual([hook.status, hook.body.name, hook.body.previous_secret_until], [200, 'Theirs', null])
  const ids = async (path: string) =>
    (await send(app, 'GET', path, browser)).body.data.map(({ id }: { id: string }) => id)
  assert.ok((await ids('/console/api_keys')).includes(things.key))
  assert.ok((await ids('/console/members')).includes(things.member))
  assert.ok((await ids('/console/invitations')).includes(things.invitation))
  assert.ok((await ids(`/console/videos/${things.video}/share_links`)).includes(things.share_link))
  const { body } = await send(app, 'GET', '/console/members', browser)
  assert.equal(body.data.find(({ id }: { id: string }) => id === things.member).role, 'member')
})

test('no list shows a row of another organization, whoever asks and wherever the page begins', async () => {
  const lists = app.app.routes.filter(
    ({ method, query }) => method === 'GET' && query && 'after' in (query as { properties?: object }).properties!,
  )
  assert.ok(lists.length >= 5, 'lists were found by their query')
  const theirs = new Set([...Object.values(acme.things), acme.owner.user_id, acme.owner.key_id, acme.member.key_id])
  for (const endpoint of lists) {
    for (const person of [rival.owner, rival.member]) {
      for (const caller of callersOf(endpoint, person)) {
        const path = endpoint.path.replace(/:\w+/, () => rival.things[ROUTES[nameOf(endpoint)]!.id])
        const whole = await send(app, 'GET', path, caller)
        if (whole.status === 403 || (path !== endpoint.path && person !== rival.owner)) continue
        assert.equal(whole.status, 200, nameOf(endpoint))
        for (const { id } of whole.body.data) assert.ok(!theirs.has(id), nameOf(endpoint))
        const first = whole.body.first_id
        const foreign = [...theirs].find((id) => first && id.slice(0, -26) === first.slice(0, -26))
        if (!foreign) continue
        for (const order of ['asc', 'desc']) {
          const page = await send(app, 'GET', `${path}?after=${foreign}&order=${order}`, caller)
          assert.equal(page.status, 200)
          for (const { id } of page.body.data) assert.ok(!theirs.has(id), nameOf(endpoint))
        }
      }
    }
  }
})

test("a file of another organization in a job is the missing file, and a job made beside it is one's own", async () => {
  const tried = async (file_id: string) => {
    const { status, body } = await submit(app, rival.owner, { image_reference: [{ file_id, role: 'first_frame' }] })
    return JSON.stringify({ status, body }).replaceAll(file_id, '<id>')
  }
  assert.equal(await tried(acme.things.file), await tried(missing(acme.things.file)))
})

test('people of one organization share its jobs and files, and a member sees only keys of their own', async () => {
  for (const path of [`/v1/videos/${acme.things.video}`, `/v1/files/${acme.things.file}`]) {
    assert.equal((await send(app, 'GET', path, { key: acme.member.key })).status, 200)
  }
  const endpoint = withParams().find((each) => nameOf(each) === 'DELETE /console/api_keys/:id')!
  const caller = { cookie: acme.member.cookie }
  assert.deepEqual(
    await seen(endpoint, acme.things.key, caller),
    await seen(endpoint, missing(acme.things.key), caller),
  )
})
