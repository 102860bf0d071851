import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { after, before, test } from 'node:test'
import type { Result } from '../../server/cli/check/steps.ts'
import { ended, printed, runCommand, runKinora, startKinora } from '../support/command.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { freePort } from '../support/listen.ts'
import { startReceiver } from '../support/webhooks/app.ts'
import { type ProxyFaults, startProxy } from './check-proxy.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 1000 } }
video_models:
  - { id: dear-1, engine: instant, per_second: "0.020000" }
  - { id: cheap-1, engine: instant, per_second: "0.010000" }
  - { id: failing-1, engine: { kind: instant, render: permanent }, per_second: "0.020000" }
  - { id: endless-1, engine: { kind: instant, render: endless }, per_second: "0.020000" }
chat_models:
  - { id: dear-chat, engine: sandbox, price_per_million: { input: "10", output: "10" } }
  - { id: quick-chat, engine: sandbox, price_per_million: { input: "5", output: "5" } }
  - { id: paced-chat, engine: { kind: sandbox, delay_ms_per_token: 2 }, price_per_million: { input: "1", output: "2" } }
webhooks: { allow_loopback: true }
`
const STEPS = [
  'health',
  'ready',
  'models',
  'file',
  'cost',
  'terms',
  'video',
  'chat',
  'stream',
  'response',
  'websocket',
  'webhook',
]

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG, background: true })
  person = await newCustomer(app)
})
after(() => app.close())

type Report = { ok: boolean; url: string; steps: Result[]; not_removed: string[] }

/** Runs the command in this process with `--json`. */
async function check(
  url: string,
  ...args: string[]
): Promise<{ code: number | null; report: Report; of(step: string): Result }> {
  return checkAs(person.key, url, ...args)
}

async function checkAs(key: string, url: string, ...args: string[]) {
  const { code, stdout, stderr } = await runCommand(
    ['check', '--url', url, '--json', '--file-megabytes', '2', ...args],
    { KINORA_API_KEY: key },
  )
  assert.ok(stdout.startsWith('{'), `${code}: ${stdout}${stderr}`)
  const report = JSON.parse(stdout) as Report
  assert.deepEqual(report.not_removed, [])
  return { code, report, of: (name: string) => report.steps.find(({ step }) => step === name)! }
}

/** Outcomes by step, of those that are not `ok`. */
function troubles({ steps }: Report): Record<string, string> {
  return Object.fromEntries(steps.filter(({ outcome }) => outcome !== 'ok').map(({ step, outcome }) => [step, outcome]))
}

/** Whatever a run may have created for this organization. */
async function remaining(org_id: string): Promise<number> {
  const tables = ['files', 'video_jobs', 'responses', 'webhook_endpoints'] as const
  const counts = await Promise.all(
    tables.map(
      async (table) =>
        (await app.database.db.selectFrom(table).select('id').where('org_id', '=', org_id).execute()).length,
    ),
  )
  return counts.reduce((sum, count) => sum + count)
}

test('every step is tried with the cheapest models, within the cost that is stated before, and nothing remains', async () => {
  const customer = await newCustomer(app)
  const { code, stdout, stderr } = await runKinora(['check', '--url', app.url], {
    env: { KINORA_API_KEY: customer.key },
  })
  assert.equal(code, 0, stdout + stderr)
  const lines = stdout.split('\n').filter((line) => line.startsWith('  '))
  assert.deepEqual(
    lines.map((line) => line.trim().split(/\s+/).slice(0, 2)),
    STEPS.map((step) => [step === 'webhook' ? 'skipped' : 'ok', step]),
  )
  assert.match(stdout, /^ {2}ok {7}models .*video cheap-1, chat paced-chat$/m)
  assert.match(
    stdout,
    /^ {2}ok {7}cost .* at most 0\.04\d+ usd: 0\.04 for 4 s of cheap-1, 0\.00\d+ for tokens of paced-chat$/m,
  )
  assert.match(stdout, /^ {2}ok {7}file .*12\.0 MB up, down and deleted$/m)
  assert.match(stdout, /^ {2}ok {7}stream .* events in \d+ pieces$/m)
  assert.match(stdout, /\n11 ok, 0 failed, 1 skipped\n$/)
  assert.equal(await remaining(customer.org_id), 0)
  const charges = await app.database.db
    .selectFrom('ledger_entries')
    .select('amount')
    .where('org_id', '=', customer.org_id)
    .where('amount', '<', 0n)
    .execute()
  const [, most] = /at most 0\.(\d+) usd/.exec(stdout)!
  const charged = charges.reduce((sum, { amount }) => sum - BigInt(amount), 0n)
  assert.ok(charged > 4_000_000n && charged <= BigInt(most!.padEnd(8, '0')), `${charged} of ${most}`)
})

test('an event is received and its signature verified; without a way to the port the delivery says what is wrong', async (t) => {
  const port = await freePort()
  const right = await check(app.url, '--webhook-url', `http://127.0.0.1:${port}/in`, '--listen', String(port))
  assert.deepEqual([right.code, right.of('webhook').outcome], [0, 'ok'], JSON.stringify(right.of('webhook')))
  const other = await startReceiver()
  t.after(() => other.close())
  other.answer({ status: 500 })
  const wrong = await check(app.url, '--webhook-url', `${other.url}/in`, '--listen', String(port))
  assert.equal(wrong.code, 1)
  assert.match(wrong.of('webhook').failure!.received, /status, HTTP 500/)
  assert.match(wrong.of('webhook').failure!.cause, /--webhook-url has to end at --listen/)
  assert.equal(await remaining(person.org_id), 0)
})

test('nothing that costs is tried when the quote is above --max-cost', async () => {
  const customer = await newCustomer(app)
  const { code, report, of } = await checkAs(customer.key, app.url, '--max-cost', '0.03')
  assert.equal(code, 1)
  assert.match(of('cost').failure!.cause, /more than --max-cost 0\.03\. Raise it, or name a cheaper model/)
  const billed = ['video', 'chat', 'stream', 'response', 'websocket', 'webhook'].map((step) => [step, 'skipped'])
  assert.deepEqual(troubles(report), { cost: 'failed', ...Object.fromEntries(billed) })
  const rows = await app.database.db
    .selectFrom('ledger_entries')
    .select('amount')
    .where('org_id', '=', customer.org_id)
    .execute()
  assert.equal(rows.length, 1)
})

test('terms that the owner of the key has not accepted are not accepted for them; the failure says how to', async () => {
  const customer = await newCustomer(app, { agreed: false })
  const { code, report, of } = await checkAs(customer.key, app.url)
  assert.deepEqual([code, troubles(report)], [1, { terms: 'failed', video: 'skipped', webhook: 'skipped' }])
  assert.match(
    of('terms').failure!.cause,
    new RegExp(`a key cannot. Open ${app.url}/videos, sign in as that person.*"Accept terms"`),
  )
  assert.equal(
    (
      await app.database.db
        .selectFrom('video_acceptances')
        .select('user_id')
        .where('user_id', '=', customer.user_id)
        .execute()
    ).length,
    0,
  )
})

test('a wrong key, no balance and a render that fails are named, with the public error', async () => {
  const unknown = await checkAs(`kin_${'0'.repeat(36)}`, app.url)
  assert.match(unknown.of('models').failure!.cause, /KINORA_API_KEY is a key of another service/)
  assert.equal(unknown.of('chat').outcome, 'skipped')
  const poor = await newCustomer(app, { balance: 0n })
  const broke = await checkAs(poor.key, app.url)
  assert.deepEqual(troubles(broke.report), {
    video: 'failed',
    chat: 'failed',
    stream: 'failed',
    response: 'failed',
    websocket: 'failed',
    webhook: 'skipped',
  })
  for (const step of ['video', 'chat']) assert.match(broke.of(step).failure!.cause, /balance is too low/)
  const failing = await check(app.url, '--model', 'failing-1')
  assert.deepEqual([failing.code, troubles(failing.report)], [1, { video: 'failed', webhook: 'skipped' }])
  assert.match(failing.of('video').failure!.received, /^render_failed: /)
  assert.equal(await remaining(person.org_id), 0)
  const missing = await check(app.url, '--model', 'no-such')
  assert.match(missing.of('models').failure!.received, /no model no-such among dear-1, cheap-1/)
})

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
  assert.equal(await remaining(person.org_id), 0)
})

test('a proxy that does not pass on upgrades, and one with a limit of 1 MB for bodies, are named', async (t) => {
  const plain = await startProxy(app.url, { upgrades: false })
  t.after(() => plain.close())
  const { report, of } = await check(plain.url)
  assert.deepEqual(troubles(report), { websocket: 'failed', webhook: 'skipped' })
  assert.match(of('websocket').failure!.received, /^HTTP 405, GET is not allowed here without a WebSocket handshake/)
  assert.match(of('websocket').failure!.cause, /does not pass on `Upgrade`/)
  const narrow = await startProxy(app.url, { body_bytes_max: 1_000_000 })
  t.after(() => narrow.close())
  const limited = await check(narrow.url)
  assert.deepEqual(troubles(limited.report), { file: 'failed', webhook: 'skipped' })
  const { received, cause } = limited.of('file').failure!
  assert.equal(received, 'HTTP 413, text/html, "413 Request Entity Too Large", from tiny')
  assert.match(cause, /client_max_body_size 0/)
})

test('what an answer that was lost had created is removed, and bytes that are changed on the way are noticed', async (t) => {
  const isUpload = ({ method, url }: IncomingMessage) => method === 'POST' && url === '/v1/files'
  const losing = await startProxy(app.url, { loses: isUpload })
  t.after(() => losing.close())
  const lost = await check(losing.url)
  assert.deepEqual(troubles(lost.report), { file: 'failed', webhook: 'skipped' })
  assert.match(lost.of('file').failure!.cause, /ended before the answer was complete/)
  assert.equal(await remaining(person.org_id), 0)
  const instead = ({ url }: IncomingMessage) => (url!.endsWith('/content') ? { status: 200, title: 'Cached' } : null)
  const caching = await startProxy(app.url, { instead })
  t.after(() => caching.close())
  const changed = await check(caching.url)
  assert.deepEqual(troubles(changed.report), { file: 'failed', video: 'failed', webhook: 'skipped' })
  assert.match(changed.of('video').failure!.received, /no ETag with the sha256/)
  assert.equal(await remaining(person.org_id), 0)
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
    const { code, of } = await check(proxy.url, '--max-cost', step === 'chat' ? '1' : '0')
    assert.equal(code, 1)
    assert.match(of(step).failure!.cause, cause)
    assert.match(of(step).failure!.sent, new RegExp(`^${route.split(' ').join('.')}`))
  }
})

test('without a service at the URL the first step says why, and nothing else is tried', async (t) => {
  const http = await startProxy(app.url)
  t.after(() => http.close())
  const cases = [
    [`http://127.0.0.1:${await freePort()}`, /Nothing listens/],
    ['http://kinora.invalid', /^DNS: /],
    [http.url.replace('http', 'https'), /^TLS: the port does not speak TLS/],
  ] as const
  for (const [url, cause] of cases) {
    const { code, report, of } = await check(url)
    assert.equal(code, 1)
    assert.match(of('health').failure!.cause, cause, JSON.stringify(of('health')))
    assert.ok(report.steps.slice(1).every(({ outcome }) => outcome === 'skipped'))
  }
})

test('Ctrl-C cancels and deletes the job, and exits with 130', async () => {
  const customer = await newCustomer(app)
  const child = startKinora(['check', '--url', app.url, '--model', 'endless-1'], {
    env: { KINORA_API_KEY: customer.key },
  })
  const running = ended(child)
  await printed(child, 'stdout', /ok +terms/)
  const jobs = () =>
    app.database.db.selectFrom('video_jobs').select('status').where('org_id', '=', customer.org_id).execute()
  while ((await jobs())[0]?.status !== 'in_progress');
  child.kill('SIGINT')
  const { code, stderr } = await running
  assert.deepEqual([code, await remaining(customer.org_id)], [130, 0], stderr)
  assert.match(stderr, /What it had created is removed/)
})

test('wrong usage exits with 2 before anything is sent', async () => {
  const cases: Array<[string[], RegExp]> = [
    [['--url', 'kinora.example.com'], /--url is not a URL/],
    [['--max-cost', 'much'], /--max-cost is not an amount/],
    [['--file-megabytes', '101'], /from 1 to 100/],
    [['--listen', '8099'], /belong together/],
    [['--webhook-url', 'https://example.com', '--listen', 'here'], /--listen is not a port/],
    [['now'], /unexpected argument now/],
  ]
  for (const [args, complaint] of cases) {
    const { code, stderr } = await runCommand(['check', ...args], { KINORA_API_KEY: 'canary' })
    assert.equal(code, 2)
    assert.match(stderr, complaint)
    assert.doesNotMatch(stderr, /canary/)
  }
  assert.match((await runCommand(['check'])).stderr, /KINORA_API_KEY is not set/)
})
