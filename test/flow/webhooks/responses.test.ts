import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import { send } from '../../support/http/send.ts'
import { chunk } from '../../support/upstream/chat-upstream.ts'

let service: BackgroundApp
before(async () => {
  service = await startBackgroundApp({ worker: false })
  const { app, person } = service
  const event_types = ['response.completed', 'response.failed', 'response.incomplete', 'response.cancelled']
  const body = { name: 'Test', url: 'https://example.com/', event_types }
  assert.equal((await send(app, 'POST', '/v1/webhook_endpoints', { key: person.key }, body)).status, 200)
  app.clock.advance(120)
})
after(() => service.close())
afterEach(async () => assert.deepEqual(await service.app.audit(), {}))

async function events(): Promise<string[]> {
  const { rows } = await service.app.database.pool.query('select type, subject_id from events order by id')
  return rows.map(({ type, subject_id }) => `${type} ${subject_id}`)
}

test('each end of a background response is an event of its own type; one in the foreground is none', async () => {
  const expected: string[] = []
  const ended = async (status: string, changes: object = {}) => {
    const { body } = await service.submit(changes as Record<string, unknown>)
    expected.push(`response.${status} ${body.id}`)
    return body.id as string
  }
  await ended('completed')
  await service.tick()
  assert.deepEqual(await events(), expected)
  service.upstream.reply({
    kind: 'stream',
    frames: [chunk({ content: 'Half' }), chunk({}, { finish_reason: 'length' })],
  })
  await ended('incomplete')
  await service.tick()
  assert.deepEqual(await events(), expected)
  const cancelled = await ended('cancelled')
  await service.call('POST', `${cancelled}/cancel`)
  assert.deepEqual(await events(), expected)
  const late = await ended('failed')
  service.app.clock.advance(10 * 86_400)
  await service.tick()
  assert.deepEqual(await events(), expected, late)
  const plain = await service.submit({ background: false })
  assert.equal(plain.body.status, 'completed')
  assert.deepEqual(await events(), expected)
})
