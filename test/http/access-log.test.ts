import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openLog } from '../../server/platform/log.ts'
import { INSTANT_CONFIG, newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { turnSocket } from '../support/http/socket/turns.ts'

const PRICE = 'price_per_million: { input: "1", output: "1" }'
const CONFIG = `${INSTANT_CONFIG}
chat_models: [{ id: m, engine: sandbox, capabilities: [tools, reasoning], reasoning_efforts: [low], ${PRICE} }]
`

type Line = { event: string; route: string; status: number; video_id?: string; response_id?: string }

let app: TestApp
let person: TestPerson
const lines: Line[] = []
before(async () => {
  app = await startApp({ config: CONFIG, log: openLog('info', { write: (line) => void lines.push(JSON.parse(line)) }) })
  person = await newCustomer(app)
})
after(() => app.close())

/** The lines of requests to a route, oldest first. They are written once the client has its answer. */
async function requestsTo(route: string, count: number): Promise<Line[]> {
  for (;;) {
    const found = lines.filter((line) => line.event === 'request' && line.route === route)
    if (found.length >= count) return found
    await new Promise(setImmediate)
  }
}

test('a submitted video is named in the line of its request, and a replay names the same one', async () => {
  const headers = { 'idempotency-key': 'access log' }
  const first = await send(app, 'POST', '/v1/videos', { ...person, headers }, videoBody())
  await send(app, 'POST', '/v1/videos', { ...person, headers }, videoBody())
  await send(app, 'POST', '/v1/videos', person, videoBody({ seconds: 0 }))
  assert.deepEqual(
    (await requestsTo('/v1/videos', 3)).map(({ status, video_id }) => [status, video_id]),
    [
      [200, first.body.id],
      [200, first.body.id],
      [400, undefined],
    ],
  )
})

test('a response is named in the line of its request: plain, streamed, in the background', async () => {
  const ask = (changes: object) =>
    send(app, 'POST', '/v1/responses', person, { model: 'm', input: 'Hello', ...changes })
  const ids: string[] = []
  for (const changes of [{}, { stream: true }, { background: true }]) {
    const { status, text } = await ask(changes)
    assert.equal(status, 200, text)
    ids.push(/resp_\w+/.exec(text)![0])
  }
  await ask({ model: 'none' })
  assert.deepEqual(
    (await requestsTo('/v1/responses', 4)).map(({ status, response_id }) => [status, response_id]),
    [...ids.map((id) => [200, id]), [404, undefined]],
  )
})

test('a response over a WebSocket is named in the line of its message', async () => {
  const socket = await turnSocket(app.url, person)
  const { response } = await socket.turn({ model: 'm' })
  await socket.close()
  assert.deepEqual(
    (await requestsTo('response.create', 1)).map(({ response_id }) => response_id),
    [response.id],
  )
})
