import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { after, before, test } from 'node:test'
import { runKinora } from '../../support/command.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { type ProxyFaults, startProxy } from './proxy.ts'
import { CONFIG, checkAs, type Report, remaining, troubles } from './support.ts'

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG, background: true })
  person = await newCustomer(app)
})
after(() => app.close())

/** Runs the command in a process of its own, so that it reads while the service writes, through a proxy with faults. */
async function through(t: { after(end: () => Promise<void>): void }, faults: ProxyFaults, ...args: string[]) {
  const proxy = await startProxy(app.url, faults)
  t.after(() => proxy.close())
  const { stdout } = await runKinora(['check', '--url', proxy.url, '--json', '--file-megabytes', '2', ...args], {
    env: { KINORA_API_KEY: person.key },
  })
  const report = JSON.parse(stdout) as Report
  return { report, of: (name: string) => report.steps.find(({ step }) => step === name)! }
}

test('a proxy that passes everything on fails no step, whatever the pace of the model', async (t) => {
  for (const model of ['paced-chat', 'quick-chat']) {
    const { report } = await through(t, {}, '--chat-model', model)
    assert.deepEqual(troubles(report), { webhook: 'skipped' }, JSON.stringify(report))
  }
})

test('a proxy that buffers all or much of a stream is named, whatever the pace of the model', async (t) => {
  const cases = [
    ['paced-chat', Number.POSITIVE_INFINITY],
    ['quick-chat', Number.POSITIVE_INFINITY],
    ['paced-chat', 8192],
  ] as const
  for (const [model, gathers_bytes] of cases) {
    const { report, of } = await through(t, { gathers_bytes }, '--chat-model', model)
    assert.deepEqual(troubles(report), { stream: 'failed', webhook: 'skipped' }, JSON.stringify(report))
    assert.match(of('stream').failure!.cause, /A proxy gathers the stream.*proxy_buffering off/)
  }
  assert.equal(await remaining(app, person.org_id), 0)
})

test('a proxy that does not pass on upgrades, and one with a limit of 1 MB for bodies, are named', async (t) => {
  const plain = await startProxy(app.url, { upgrades: false })
  t.after(() => plain.close())
  const { report, of } = await checkAs(person.key, plain.url)
  assert.deepEqual(troubles(report), { websocket: 'failed', webhook: 'skipped' })
  assert.match(of('websocket').failure!.received, /^HTTP 405, GET is not allowed here without a WebSocket handshake/)
  assert.match(of('websocket').failure!.cause, /does not pass on `Upgrade`/)
  const narrow = await startProxy(app.url, { body_bytes_max: 1_000_000 })
  t.after(() => narrow.close())
  const limited = await checkAs(person.key, narrow.url)
  assert.deepEqual(troubles(limited.report), { file: 'failed', webhook: 'skipped' })
  const { received, cause } = limited.of('file').failure!
  assert.equal(received, 'HTTP 413, text/html, "413 Request Entity Too Large", from tiny')
  assert.match(cause, /client_max_body_size 0/)
})

test('what an answer that was lost had created is removed, and bytes that are changed on the way are noticed', async (t) => {
  const isUpload = ({ method, url }: IncomingMessage) => method === 'POST' && url === '/v1/files'
  const losing = await startProxy(app.url, { loses: isUpload })
  t.after(() => losing.close())
  const lost = await checkAs(person.key, losing.url)
  assert.deepEqual(troubles(lost.report), { file: 'failed', webhook: 'skipped' })
  assert.match(lost.of('file').failure!.cause, /ended before the answer was complete/)
  assert.equal(await remaining(app, person.org_id), 0)
  const instead = ({ url }: IncomingMessage) => (url!.endsWith('/content') ? { status: 200, title: 'Cached' } : null)
  const caching = await startProxy(app.url, { instead })
  t.after(() => caching.close())
  const changed = await checkAs(person.key, caching.url)
  assert.deepEqual(troubles(changed.report), { file: 'failed', video: 'failed', webhook: 'skipped' })
  assert.match(changed.of('video').failure!.received, /no ETag with the sha256/)
  assert.equal(await remaining(app, person.org_id), 0)
})

test('time limits, missing nodes and logins of a proxy are distinguished from errors of Kinora', async (t) => {
  const cases = [
    ['POST /v1/chat/completions', 504, /own time limit/, 'chat'],
    ['GET /readyz', 502, /reaches no node/, 'ready'],
    ['GET /v1/models', 401, /login of its own/, 'models'],
    ['GET /v1/models', 200, /does not lead to Kinora/, 'models'],
    ['GET /healthz', 301, /only redirects/, 'health'],
  ] as const
  for (const [route, status, cause, step] of cases) {
    const proxy = await startProxy(app.url, {
      instead: ({ method, url }) =>
        `${method} ${url}` === route ? { status, title: 'Page', headers: { location: '/elsewhere' } } : null,
    })
    t.after(() => proxy.close())
    const { code, of } = await checkAs(person.key, proxy.url, '--max-cost', step === 'chat' ? '1' : '0')
    assert.equal(code, 1)
    assert.match(of(step).failure!.cause, cause)
    assert.match(of(step).failure!.sent, new RegExp(`^${route.split(' ').join('.')}`))
  }
})
