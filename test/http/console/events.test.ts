import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BALANCE_TOPIC } from '../../../server/billing/balance-changes.ts'
import { grantCredits } from '../../../server/billing/ledger.ts'
import { openLiveEvents } from '../../../server/console/live-events.ts'
import type { Principal } from '../../../server/identity/caller/principal.ts'
import { VIDEO_TOPIC } from '../../../server/videos/queues.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { browserOf, newOrganization } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'
import { submit } from '../../support/http/videos-app.ts'

let app: TestApp
let ada: TestPerson
let rival: TestPerson
before(async () => {
  app = await startApp()
  ada = await newCustomer(app)
  rival = await newCustomer(app)
})
after(() => app.close())

// biome-ignore lint/suspicious/noExplicitAny: events of several shapes.
type Event = { event: string; data: any }

/** Opens the stream as a browser does. */
async function listen(browser: { cookie: string }, at: { url: string } = app) {
  const left = new AbortController()
  const answer = await fetch(`${at.url}/console/events`, { headers: { cookie: browser.cookie }, signal: left.signal })
  const events: AsyncGenerator<Event, void> = answer.status === 200 ? readEvents(answer) : (async function* () {})()
  return {
    answer,
    /** The next event that `matches`; null when the stream ends first. */
    async next(matches: (event: Event) => boolean = () => true): Promise<Event | null> {
      for (;;) {
        const { value, done } = await events.next()
        if (done) return null
        if (matches(value as Event)) return value as Event
      }
    },
    leave: () => left.abort(),
  }
}

async function* readEvents(answer: Response): AsyncGenerator<Event, void> {
  let text = ''
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const of = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const event = of('event')
      if (event) yield { event, data: JSON.parse(of('data')!) }
    }
  }
}

const isVideo = (id: string, status?: string) => (each: Event) =>
  each.event === 'video' && each.data.id === id && (status === undefined || each.data.status === status)

test('200: a stream that begins with ready and sends jobs and the balance as they change', async () => {
  const stream = await listen(ada)
  assert.equal(stream.answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.deepEqual(await stream.next(), { event: 'ready', data: { object: 'console_events' } })
  const made = (await submit(app, ada)).body
  assert.deepEqual((await stream.next(isVideo(made.id)))!.data, made, 'the view that the API gives')
  const held = await stream.next(({ event }) => event === 'balance')
  assert.deepEqual(held!.data, (await send(app, 'GET', '/console/balance', { cookie: ada.cookie })).body)
  assert.equal(held!.data.held, made.cost)
  await app.tick()
  const done = await stream.next(isVideo(made.id, 'completed'))
  assert.deepEqual(done!.data, (await send(app, 'GET', `/v1/videos/${made.id}`, ada)).body)
  const paid = await stream.next(({ event }) => event === 'balance')
  assert.equal(paid!.data.held, '0.00000000')
  await send(app, 'DELETE', `/v1/videos/${made.id}`, ada)
  const gone = await stream.next(({ data }) => data.deleted)
  assert.deepEqual(gone, { event: 'video', data: { id: made.id, object: 'video', deleted: true } })
  stream.leave()
})

test('colleagues get the same events; no one gets events of another organization', async () => {
  const streams = [await listen(ada), await listen(await newColleague(app, ada.org_id))]
  const foreign = await listen(rival)
  const { id } = (await submit(app, ada)).body
  const own = (await submit(app, rival)).body
  await app.tick()
  // What a job went through between two looks is reported in its latest state.
  for (const stream of streams) assert.ok(await stream.next(isVideo(id, 'completed')))
  await send(app, 'DELETE', `/v1/videos/${id}`, ada)
  for (const stream of streams) assert.ok(await stream.next(({ data }) => data.deleted && data.id === id))
  await send(app, 'DELETE', `/v1/videos/${own.id}`, rival)
  const heard: Event[] = []
  await foreign.next((each) => heard.push(each) < 0 || each.data.deleted === true)
  for (const { event, data } of heard) {
    if (event === 'video') assert.equal(data.id, own.id)
  }
  assert.ok(!JSON.stringify(heard).includes(id))
  for (const stream of [...streams, foreign]) stream.leave()
})

test('the person who submitted a job, and nobody else, gets an event of their own when it ends', async () => {
  const colleague = await newColleague(app, ada.org_id)
  const [own, other] = [await listen(ada), await listen(colleague)]
  const { id } = (await submit(app, ada)).body
  await app.tick()
  assert.equal((await own.next(({ event }) => event === 'own_video_ended'))!.data.id, id)
  await send(app, 'DELETE', `/v1/videos/${id}`, ada)
  const heard: Event[] = []
  await other.next((each) => heard.push(each) < 0 || each.data.deleted === true)
  assert.ok(heard.some(isVideo(id, 'completed')))
  assert.ok(!heard.some(({ event }) => event === 'own_video_ended'))
  for (const stream of [own, other]) stream.leave()
})

test('a grant that another process announces is sent', async () => {
  const stream = await listen(rival)
  await stream.next()
  const grant = { org_id: rival.org_id, amount: 1n, note: 'One', user_id: null, now: app.clock.now() }
  await app.database.db.transaction().execute((tx) => grantCredits(tx, grant))
  const second = await startApp({ beside: app })
  second.ctx.changes.announce(BALANCE_TOPIC, rival.org_id)
  const heard = await stream.next(({ event }) => event === 'balance')
  assert.deepEqual(heard!.data, (await send(app, 'GET', '/console/balance', { cookie: rival.cookie })).body)
  stream.leave()
  await second.close()
})

test('ready again when changes may have been missed', async () => {
  const stream = await listen(ada)
  await stream.next()
  await app.database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'kinora listen' and datname = current_database()`,
  )
  assert.equal((await stream.next())!.event, 'ready')
  stream.leave()
})

test('the stream ends with the session: signed out, ended elsewhere, removed, moved to another organization', async () => {
  const owner = await newCustomer(app)
  const ways: Array<(person: TestPerson) => Promise<unknown>> = [
    (person) => send(app, 'POST', '/console/auth/sign-out', { cookie: person.cookie }),
    async (person) => send(app, 'DELETE', '/console/sessions', await browserOf(app, person)),
    ({ user_id }) => send(app, 'DELETE', `/console/members/${user_id}`, { cookie: owner.cookie }),
    async ({ cookie, user_id }) => {
      const organization_id = await newOrganization(app, 'Second')
      const member = { id: `mem_${user_id}`, org_id: organization_id, user_id, role: 'member' as const }
      await app.database.db
        .insertInto('members')
        .values({ ...member, created_at: new Date() })
        .execute()
      await send(app, 'POST', '/console/session/organization', { cookie }, { organization_id })
    },
    async ({ user_id }) => app.database.pool.query('delete from sessions where user_id = $1', [user_id]),
  ]
  for (const end of ways) {
    const person = await newColleague(app, owner.org_id)
    const stream = await listen(person)
    assert.equal((await stream.next())!.event, 'ready')
    await end(person)
    assert.equal((await stream.next())!.event, 'end')
    assert.equal(await stream.next(), null)
  }
})

test('a stream keeps no session alive, and is refused like any other call afterwards', async () => {
  const person = await newColleague(app, ada.org_id)
  const stream = await listen(person)
  await stream.next()
  app.clock.advance(12 * 3600)
  assert.equal((await stream.next())!.event, 'end')
  assert.equal((await listen(person)).answer.status, 401)
  ada.cookie = (await browserOf(app, ada)).cookie
  rival.cookie = (await browserOf(app, rival)).cookie
})

test('429 for the ninth stream of one session; one that leaves makes room', async () => {
  const person = await newColleague(app, ada.org_id)
  const streams = await Promise.all(Array.from({ length: 8 }, () => listen(person)))
  assert.deepEqual(new Set(streams.map(({ answer }) => answer.status)), new Set([200]))
  assert.equal((await listen(person)).answer.status, 429)
  assert.equal((await listen(ada)).answer.status, 200)
  streams[0]!.leave()
  let again = await listen(person)
  while (again.answer.status === 429) again = await listen(person)
  assert.equal(again.answer.status, 200)
  for (const stream of [...streams, again]) stream.leave()
})

test('429 for the seventeenth stream of one person, whatever the session', async () => {
  const person = await newColleague(app, ada.org_id)
  const sessions = [person, await browserOf(app, person), await browserOf(app, person)]
  const streams = []
  for (const session of sessions.slice(0, 2)) for (let i = 0; i < 8; i++) streams.push(await listen(session))
  assert.deepEqual(new Set(streams.map(({ answer }) => answer.status)), new Set([200]))
  assert.equal((await listen(sessions[2]!)).answer.status, 429)
  assert.equal((await listen(await newColleague(app, ada.org_id))).answer.status, 200)
  for (const stream of streams) stream.leave()
})

test('events that take long to send are gathered for longer: sending them takes a third of the time at most', async (t) => {
  const { id } = (await submit(app, ada)).body
  const { rows } = await app.database.pool.query('select id from sessions where user_id = $1', [ada.user_id])
  const live = openLiveEvents(app.ctx, { onForget: () => () => {} })
  t.after(live.close)
  let busy_ms = 0
  const write = () => {
    const began = performance.now()
    while (performance.now() - began < 20);
    busy_ms += 20
    return undefined
  }
  const caller = { org_id: ada.org_id, user_id: ada.user_id, session_id: rows[0].id } as Principal
  live.join(caller, () => ({ signal: new AbortController().signal, write, end: () => {} }))
  const began = performance.now()
  busy_ms = 0
  while (busy_ms < 400) {
    app.ctx.changes.announce(VIDEO_TOPIC, id)
    await nextTurn()
  }
  const share = busy_ms / (performance.now() - began)
  assert.ok(share < 1 / 3, `${share} of the time`)
})

test('HEAD answers at once; an API key is refused', async () => {
  const head = await fetch(`${app.url}/console/events`, { method: 'HEAD', headers: { cookie: ada.cookie } })
  assert.equal(head.status, 200)
  const byKey = await send(app, 'GET', '/console/events', { key: ada.key })
  assert.equal(byKey.body.error.code, 'console_login_required')
})

test('stopping the service ends the streams at once', async () => {
  const second = await startApp({ beside: app })
  const stream = await listen(ada, second)
  await stream.next()
  const stopped = second.app.close()
  assert.equal((await stream.next())!.event, 'end')
  assert.equal(await stream.next(), null)
  await stopped
})
