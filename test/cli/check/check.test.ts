import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ended, printed, runCommand, runKinora, startKinora } from '../../support/command.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { freePort } from '../../support/listen.ts'
import { startReceiver } from '../../support/webhooks/app.ts'
import { startProxy } from './proxy.ts'
import { CONFIG, checkAs, remaining, troubles } from './support.ts'

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

const check = (url: string, ...args: string[]) => checkAs(person.key, url, ...args)

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
  assert.equal(await remaining(app, customer.org_id), 0)
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
  assert.equal(await remaining(app, person.org_id), 0)
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
  assert.equal(await remaining(app, person.org_id), 0)
  const missing = await check(app.url, '--model', 'no-such')
  assert.match(missing.of('models').failure!.received, /no model no-such among dear-1, cheap-1/)
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
  assert.deepEqual([code, await remaining(app, customer.org_id)], [130, 0], stderr)
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
