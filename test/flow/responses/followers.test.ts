import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { openByteBudget } from '../../../server/platform/http/body/byte-budget.ts'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import { readEvents } from '../../support/http/response-requests.ts'
import { textFrames } from '../../support/upstream/chat-upstream.ts'
import { type PostgresProxy, postgresProxy } from '../../support/upstream/postgres-proxy.ts'

/** Room for one request of more than a few bytes at a time. */
const SMALL = { total: 500_000, owner: 100_000, wait_seconds: 600 }

/** `far` answers requests over a stretch of network that can be damaged; `service` works, with a database that stays. */
let service: BackgroundApp
let proxy: PostgresProxy
let far: BackgroundApp
before(async () => {
  service = await startBackgroundApp({ budget: openByteBudget(SMALL) })
  proxy = await postgresProxy(service.app.database.url)
  const database = { ...service.app.database, url: proxy.url }
  far = await startBackgroundApp({ worker: false, beside: { ...service, app: { ...service.app, database } } })
})
after(async () => {
  await far.close()
  await proxy.close()
  await service.close()
})
afterEach(async () => assert.deepEqual(await service.app.audit(), {}))

const HANGING = {
  kind: 'stream',
  frames: textFrames(['One', ' two']),
  done: false,
  finally: 'stall',
} as const

/** Gives no reason to finish. */
const ENDLESS = { ...HANGING, frames: HANGING.frames.slice(0, -2) }

/** A test that waits for room without end fails. */
const ONE_MINUTE = { timeout: 60_000 }

/** A stream that has sent `word`; `rest` resolves with its text to the end. */
async function following(answer: Response, word: string) {
  assert.equal(answer.status, 200)
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const read = async (until: () => boolean) => {
    while (!until()) {
      const { value, done } = await reader.read()
      if (done) return text
      text += value
    }
    return text
  }
  await read(() => text.includes(word))
  return { id: /"id":"(resp_[^"]+)"/.exec(text)![1]!, rest: () => read(() => false) }
}

const headers = () => ({ authorization: `Bearer ${service.person.key}`, 'content-type': 'application/json' })
const submitStreamed = (app: { url: string }, input = 'Hello') =>
  fetch(`${app.url}/v1/responses`, {
    method: 'POST',
    headers: headers(),
    body: JSON.stringify({ model: 'm', input, background: true, stream: true }),
  })
const readStreamed = (app: { url: string }, id: string) =>
  fetch(`${app.url}/v1/responses/${id}?stream=true`, { headers: headers() })

test('followers over POST and GET resume after a database outage, and get every event once', async () => {
  service.upstream.reply(HANGING)
  const submitted = await following(await submitStreamed(far.app), ' two')
  const read = await following(await readStreamed(far.app, submitted.id), ' two')
  proxy.cut()
  service.upstream.release()
  await service.ended(submitted.id)
  // Both look again and again, and so does the connection that listens.
  while (proxy.refused() < 8) await new Promise((resolve) => setTimeout(resolve, 5))
  proxy.restore()
  for (const follower of [submitted, read]) {
    const events = readEvents(await follower.rest())
    assert.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      events.map((_, index) => index),
    )
    assert.equal(events.at(-1)!.type, 'response.completed')
  }
})

test('a client that follows its background response takes no room that the response needs', ONE_MINUTE, async () => {
  const submitted = await following(await submitStreamed(service.app, 'word '.repeat(60_000)), 'response.queued')
  assert.match(await submitted.rest(), /response\.completed/)
})

test('a stop of the service cuts off followers of a response that does not end, long before its limit for requests', async () => {
  const leaving = await startBackgroundApp({ worker: false, beside: service })
  service.upstream.reply(ENDLESS)
  const submitted = await following(await submitStreamed(leaving.app), ' two')
  let stopped = false
  const closing = leaving.app.app.close().then(() => {
    stopped = true
  })
  await assert.rejects(submitted.rest(), 'the stream breaks off, so that the client follows again elsewhere')
  await closing
  assert.ok(stopped)
  service.upstream.release()
  await service.ended(submitted.id)
})
