import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import {
  newColleague,
  newCustomer,
  startApp,
  type TestApp,
  type TestPerson,
  videoBody,
} from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { assertInvalid, assertRefused, jobsOf, sendRaw, storedFile, submit } from '../../support/http/videos-app.ts'

const CONFIG = `
plans:
  free: { video_models: [instant-1] }
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
  - { id: elsewhere-1, engine: instant, per_second: "0.010000" }
chat_models:
  - { id: sandbox-1, engine: sandbox, price_per_million: { input: "0.10", output: "0.40" } }
`

let app: TestApp
let rich: TestPerson
let unagreed: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG })
  rich = await newCustomer(app)
  unagreed = await newColleague(app, rich.org_id, { agreed: false })
})
after(() => app.close())
afterEach(async () => assert.deepEqual(await app.audit(), {}))

const NO_FILE = { image_reference: [{ file_id: 'file-00000000000000000000000000', role: 'first_frame' }] }
const keyed = (caller: { key: string }, idempotency_key: string) => ({
  key: caller.key,
  headers: { 'idempotency-key': idempotency_key },
})

/** An organization whose balance is `balance` units and whose two slots are free unless `busy`. */
async function customer(options: { balance?: bigint; busy?: boolean } = {}): Promise<TestPerson> {
  const person = await newCustomer(app, { balance: options.balance ?? 10_000_000_000n })
  if (options.busy) for (let i = 0; i < 2; i++) assert.equal((await submit(app, person)).status, 200)
  return person
}

test('401 before 405, 413, 415 and an unreadable body', async () => {
  const nobody = { key: 'kin_wrong' }
  const wrong = { status: 401, code: 'invalid_api_key', type: 'authentication_error' }
  assertRefused(await send(app, 'PUT', '/v1/videos', nobody), wrong)
  assertRefused(await sendRaw(app, nobody, 'x', 'text/plain'), wrong)
  assertRefused(await sendRaw(app, nobody, '{'), wrong)
  const length = { ...nobody, headers: { 'idempotency-key': ' ' } }
  assertRefused(await sendRaw(app, length, '{'), wrong)
})

test('401 before 429 of the request limit, and that before 405, 415, an unreadable body and all that follows', async () => {
  const limited = await startApp({ config: 'plans: { free: { requests_per_minute: 2 } }' })
  try {
    const caller = await newCustomer(limited)
    for (let i = 0; i < 2; i++)
      assert.equal((await send(limited, 'GET', '/v1/videos', { key: caller.key })).status, 200)
    const over = {
      status: 429,
      code: 'rate_limit_exceeded',
      type: 'rate_limit_error',
      message: /Please try again in \d+\.\ds\.$/,
    }
    const refused = await send(limited, 'PUT', '/v1/videos', { key: caller.key })
    assertRefused(refused, over)
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/)
    assert.equal(refused.headers.get('x-should-retry'), null)
    assertRefused(await sendRaw(limited, { key: caller.key }, '{', 'text/plain'), over)
    assertRefused(await sendRaw(limited, { key: caller.key }, '{'), over)
    const wrong = { status: 401, code: 'invalid_api_key', type: 'authentication_error' }
    assertRefused(await send(limited, 'PUT', '/v1/videos', { key: 'kin_wrong' }), wrong)
  } finally {
    await limited.close()
  }
})

test('405 before 415 and an unreadable body', async () => {
  const headers = { authorization: `Bearer ${rich.key}`, 'content-type': 'text/plain' }
  for (const body of ['x', '{']) {
    const answer = await fetch(`${app.url}/v1/videos`, { method: 'PUT', headers, body })
    assert.equal(answer.status, 405)
  }
})

test('415 and an unreadable body before the idempotency key, the acceptance and the shape', async () => {
  const caller = keyed(unagreed, 'é'.repeat(3))
  assertRefused(await sendRaw(app, { key: caller.key }, '{}', 'text/plain'), {
    status: 415,
    code: 'unsupported_media_type',
  })
  const bad = { key: unagreed.key, headers: { 'idempotency-key': 'x'.repeat(256) } }
  assertInvalid(await sendRaw(app, bad, '{'), null, /could not parse the JSON body/)
})

test('a malformed idempotency key is refused before the agreement', async () => {
  assertInvalid(await send(app, 'POST', '/v1/videos', keyed(unagreed, 'x'.repeat(256)), {}), 'Idempotency-Key')
})

test('a replay comes before the agreement: a colleague who has not agreed repeats a request of the organization', async () => {
  const key = randomUUID()
  const first = await send(app, 'POST', '/v1/videos', keyed(rich, key), videoBody())
  const again = await send(app, 'POST', '/v1/videos', keyed(unagreed, key), videoBody())
  assert.deepEqual([again.status, again.body.id], [200, first.body.id])
  const other = await send(app, 'POST', '/v1/videos', keyed(unagreed, key), { seconds: 99 })
  assertRefused(other, { status: 422, code: 'idempotency_key_reused', param: 'Idempotency-Key' })
})

test('403 agreement before the shape of the body', async () => {
  for (const body of [{}, videoBody({ seconds: 99 }), [], 'x']) {
    const answer = await send(app, 'POST', '/v1/videos', unagreed, body)
    assertRefused(answer, {
      status: 403,
      code: 'agreement_required',
      type: 'permission_error',
      message: /terms 2026-11-01/,
    })
  }
})

test('400 shape, and rules between members, before 404 model', async () => {
  assertInvalid(await submit(app, rich, { model: 'nope', seconds: 3 }), 'seconds')
  assertInvalid(await submit(app, rich, { model: 'nope', references: {} }), 'references')
})

test('404 model before files: unknown, of another plan, or a chat model, in one text', async () => {
  for (const model of ['nope', 'elsewhere-1', 'sandbox-1']) {
    const message = `The model '${model}' does not exist or your plan does not include it. List video models with GET /v1/videos/models.`
    assertRefused(await submit(app, rich, { model, ...NO_FILE }), {
      status: 404,
      code: 'model_not_found',
      param: 'model',
      message,
    })
  }
})

test('400 files before 402 credits', async () => {
  const poor = await customer({ balance: 0n })
  assertInvalid(await submit(app, poor, NO_FILE), 'image_reference[0].file_id')
  const file_id = await storedFile(app, poor, { purpose: 'audio' })
  assertInvalid(
    await submit(app, poor, { image_reference: [{ file_id, role: 'first_frame' }] }),
    'image_reference[0].file_id',
  )
  const fits = await storedFile(app, poor)
  assertRefused(await submit(app, poor, { image_reference: [{ file_id: fits, role: 'first_frame' }] }), {
    status: 402,
    code: 'insufficient_credits',
    type: 'insufficient_quota',
    message:
      'This render costs 0.04000000, and 0.00000000 is available. Add credits or wait for jobs in flight to end.',
  })
})

test('402 credits before 429 slots', async () => {
  const spent = await customer({ balance: 8_000_000n, busy: true })
  assertRefused(await submit(app, spent), { status: 402, code: 'insufficient_credits', type: 'insufficient_quota' })
})

test('402 counts the quotes of jobs in flight, to the last unit', async () => {
  const exact = await customer({ balance: 8_000_000n })
  assert.equal((await submit(app, exact, { seconds: 4 })).status, 200)
  assert.equal((await submit(app, exact, { seconds: 5 })).status, 402)
  assert.equal((await submit(app, exact, { seconds: 4 })).status, 200)
  const short = await customer({ balance: 3_999_999n })
  assert.equal((await submit(app, short)).status, 402)
  assert.equal(await jobsOf(app, short.org_id), 0)
})

test('429 at the third job of a plan without its own limit, never retried by an SDK, and free again when a job ends', async () => {
  const busy = await customer({ busy: true })
  const answer = await submit(app, busy)
  assertRefused(answer, {
    status: 429,
    code: 'concurrency_limit_exceeded',
    type: 'rate_limit_error',
    message: 'Your plan allows 2 renders in progress, and 2 are. Wait for one to end, or cancel one.',
  })
  assert.equal(answer.headers.get('x-should-retry'), 'false')
  assert.match(answer.headers.get('retry-after') ?? '', /^([1-9]|[1-5]\d|60)$/)
  const { body } = await send(app, 'GET', '/v1/videos?limit=1', busy)
  await send(app, 'POST', `/v1/videos/${body.data[0].id}/cancel`, busy)
  assert.equal((await submit(app, busy)).status, 200)
})
