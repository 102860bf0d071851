import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { loadConfig } from '../../server/config/load.ts'
import { engineMistakes } from '../../server/engines/registry.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { browserOf } from '../support/http/people.ts'
import { rawConnection } from '../support/http/raw-http.ts'
import { send } from '../support/http/send.ts'
import { submit } from '../support/http/videos-app.ts'

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp({ config: config({ plan: 'free', id: 'instant-1', price: '0.010000' }) })
  person = await newCustomer(app)
})
after(() => app.close())
afterEach(async () => assert.deepEqual(await app.audit(), {}))

/** Two settings that only make sense together: what one configuration offers the other does not have. */
function config({
  plan,
  id,
  price,
  limits = '{ request_mebibytes: 600 }',
  more = '',
}: {
  plan: string
  id: string
  price: string
  limits?: string
  more?: string
}): string {
  return `
plans: { ${plan}: { max_concurrent_renders: 1000 } }
video_models: [{ id: ${id}, name: "at ${price}", engine: instant, per_second: "${price}" }]
limits: ${limits}
${more}`
}

function reload(text: string, secret = app.ctx.secret, previous: string[] = []): string[] {
  const path = join(app.dir, 'kinora.yaml')
  writeFileSync(path, text)
  const env = { KINORA_SECRET_PREVIOUS: previous.join(',') }
  const next = { config: loadConfig({ config: path, data_dir: app.dir }, env, engineMistakes), secret }
  const changed = app.app.changedBy(next)
  app.app.reload(next)
  return changed
}

test('requests of one organization hold as many bytes as the operator allows', async () => {
  const mebibyte = 1024 * 1024
  const lease = app.ctx.budget.open(person.org_id)
  assert.equal(lease.add(600 * mebibyte), undefined)
  const other = app.ctx.budget.open(person.org_id)
  const room = other.add(mebibyte)
  assert.ok(room)
  lease.end()
  await room
  other.end()
})

test('every answer while configurations change is of one whole configuration', async () => {
  const sides = [
    { plan: 'free', id: 'instant-1', price: '0.010000' },
    { plan: 'free', id: 'instant-2', price: '0.020000' },
  ]
  let done = false
  const asked: Array<Promise<string[]>> = []
  const ask = async () => {
    const seen: string[] = []
    while (!done) {
      const { data } = (await send(app, 'GET', '/v1/videos/models', { key: person.key })).body
      seen.push(
        data.map((each: Record<string, unknown>) => `${each.id} ${each.name} ${JSON.stringify(each.pricing)}`).join(),
      )
    }
    return seen
  }
  for (let i = 0; i < 4; i += 1) asked.push(ask())
  for (let i = 1; i <= 8; i += 1) {
    reload(config(sides[i % 2]!))
    await send(app, 'GET', '/v1/videos/models', { key: person.key })
  }
  done = true
  const seen = new Set((await Promise.all(asked)).flat())
  assert.equal(seen.size, 2, [...seen].join('\n'))
  for (const { id, price } of sides)
    assert.ok([...seen].some((each) => each.startsWith(`${id} at ${price} `) && each.split(price).length === 3))
})

test('pages may call from the origins of the newest configuration', async () => {
  const { key } = person
  const sides = { plan: 'free', id: 'instant-1', price: '0.010000' }
  for (const origins of [['https://a.example'], ['https://b.example'], []]) {
    reload(config({ ...sides, more: `cors: { origins: ${JSON.stringify(origins)} }` }))
    for (const origin of ['https://a.example', 'https://b.example']) {
      const { headers } = await send(app, 'GET', '/v1/models', { key, headers: { origin } })
      assert.equal(headers.get('access-control-allow-origin'), origins.includes(origin) ? origin : null)
    }
  }
})

test('a request that has begun goes on with the settings of its beginning, however late its body comes', async () => {
  reload(config({ plan: 'free', id: 'instant-1', price: '0.010000' }))
  const body = JSON.stringify({ model: 'instant-1', prompt: 'A boat', seconds: 4, aspect_ratio: '16:9' })
  const connection = await rawConnection(app.url)
  const head = [
    'POST /v1/videos HTTP/1.1',
    'host: x',
    `authorization: Bearer ${person.key}`,
    'content-type: application/json',
  ]
  await connection.write(`${[...head, `content-length: ${body.length}`, 'expect: 100-continue'].join('\r\n')}\r\n\r\n`)
  assert.equal((await connection.answer({ bodiless: true })).status, 100)
  reload(config({ plan: 'free', id: 'instant-2', price: '0.020000' }))
  await connection.write(body)
  const { status, body: answer } = await connection.answer()
  assert.deepEqual([status, JSON.parse(answer.toString()).cost], [200, '0.04000000'])
  connection.close()
  await app.tick()
})

test('a job that was quoted before a reload keeps its price, and the next one has the new one', async () => {
  reload(config({ plan: 'free', id: 'instant-1', price: '0.010000' }))
  const before = await submit(app, person)
  reload(config({ plan: 'free', id: 'instant-1', price: '0.030000' }))
  const later = await submit(app, person)
  await app.tick()
  const charged = async (id: string) => (await send(app, 'GET', `/v1/videos/${id}`, { key: person.key })).body
  const [first, second] = [await charged(before.body.id), await charged(later.body.id)]
  assert.deepEqual([first.status, second.status], ['completed', 'completed'])
  assert.deepEqual(
    [first.cost, second.cost].map((each) => Number(each.amount ?? each)),
    [0.04, 0.12],
  )
})

test('settings that need a restart are named, and nothing else of the same file is taken up', () => {
  const ours = config({ plan: 'free', id: 'instant-1', price: '0.010000' })
  reload(ours)
  const other = config({
    plan: 'free',
    id: 'instant-1',
    price: '0.050000',
    limits: '{ pipeline_concurrency: 5, request_mebibytes: 601 }',
    more: 'currency: eur',
  })
  assert.throws(
    () => reload(other),
    /currency, limits\.pipeline_concurrency, limits\.request_mebibytes cannot change while the service runs/,
  )
  assert.equal(app.ctx.config.video_models[0]!.per_second, 1_000_000n)
})

test('what changed is named without its values', () => {
  const key = 'a-secret-that-nobody-may-read-in-a-log'
  const chat = (id: string, api_key: string) =>
    `chat_models: [{ id: ${id}, engine: { kind: openai, base_url: "http://127.0.0.1:1/v1", api_key: "${api_key}" }, price_per_million: { input: "1.00", output: "2.00" } }]`
  const ours = (more: string) => config({ plan: 'free', id: 'instant-1', price: '0.010000', more })
  reload(ours(chat('writer', key)))
  const changed = reload(ours(chat('writer', `${key}2`)))
  assert.deepEqual(changed, ['chat_models.writer.engine.api_key'])
  assert.deepEqual(reload(ours(chat('editor', key))), ['chat_models.writer (removed)', 'chat_models.editor (added)'])
})

test('an engine that did not change is the same one after a reload; one that did is another', () => {
  const ours = (instant: string) => `
limits: { request_mebibytes: 600 }
video_models:
  - { id: still, engine: instant, per_second: "0.010000" }
  - { id: moved, engine: { kind: videos-api, dialect: openai, base_url: "${instant}", model: wan }, per_second: "0.010000" }`
  const at = (id: string) => app.ctx.engines.video.get(id)!.members[0]!
  reload(ours('http://127.0.0.1:1/v1'))
  const [still, moved] = [at('still').engine, at('moved').engine]
  reload(ours('http://127.0.0.1:2/v1'))
  assert.equal(at('still').engine, still)
  assert.notEqual(at('moved').engine, moved)
})

test('the secret is rotated without a stop: sessions go on, and the one in use cannot simply be dropped', async () => {
  const ours = config({ plan: 'free', id: 'instant-1', price: '0.010000' })
  reload(ours)
  const [old, next] = [app.ctx.secret, 'n'.repeat(32)]
  const browser = await browserOf(app, person)
  const status = async (cookie: { cookie: string }) => (await send(app, 'GET', '/console/session', cookie)).status
  assert.throws(() => reload(ours, next), /neither the new one nor among the previous ones/)
  assert.deepEqual(reload(ours, next, [old]), ['secret', 'previous_secrets'])
  const later = await browserOf(app, person)
  assert.deepEqual([await status(browser), await status(later)], [200, 200])
  reload(ours, next)
  assert.deepEqual([await status(browser), await status(later)], [401, 200])
})
