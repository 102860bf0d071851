import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { samplePicture } from '../support/data/media.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { submit } from '../support/http/videos-app.ts'
import { law } from '../support/law.ts'
import { trials } from '../tiers.ts'
import { type FuzzRequest, requestsFor } from './api-requests.ts'

const RUNS = trials(400, 'FUZZ_RUNS')
const SECONDS_MAX = 40

/** Requests that once broke something, or nearly; each fault found adds its own. */
const CORPUS: ReadonlyArray<Omit<FuzzRequest, 'by'> & { title: string }> = JSON.parse(
  readFileSync(new URL('./corpus/api.json', import.meta.url), 'utf8'),
)

/** Fuzzed by their own tests: their answers are streams, or cost a sign-in. */
const LEFT_OUT = /^\/(v1\/(chat|responses)|console\/(auth|password|two_factor|sessions|events|invitations\/accept))/

const CANARY = 'canary-of-another-organization'

let app: TestApp
let victim: TestPerson
let attacker: TestPerson
let secrets: string[]
let ids: string[]
let pictures: string[]
before(async () => {
  app = await startApp()
  victim = await newCustomer(app)
  const theirs = (await submit(app, victim, { prompt: CANARY })).body.id
  const file = await uploaded(victim, 'vision', await samplePicture())
  secrets = [CANARY, victim.email, victim.key_id]
  attacker = await newCustomer(app)
  const colleague = await newColleague(app, attacker.org_id)
  const own = (await submit(app, attacker)).body.id
  await app.tick()
  const running = (await submit(app, attacker)).body.id
  const files = [
    await uploaded(attacker, 'vision', await samplePicture()),
    await uploaded(attacker, 'user_data', Buffer.from('x')),
  ]
  pictures = await Promise.all([1, 2, 3].map(async () => uploaded(attacker, 'vision', await samplePicture())))
  ids = [
    theirs,
    file,
    own,
    running,
    ...files,
    victim.user_id,
    colleague.user_id,
    colleague.key_id,
    'video_00000000000000000000000000',
  ]
})
after(() => app.close())

async function uploaded(owner: TestPerson, purpose: string, bytes: Uint8Array): Promise<string> {
  const form = new FormData()
  form.set('purpose', purpose)
  form.set('file', new Blob([new Uint8Array(bytes)]), 'a.png')
  const headers = { authorization: `Bearer ${owner.key}` }
  const answer = await fetch(`${app.url}/v1/files`, { method: 'POST', headers, body: form })
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { id: string }).id
}

const ERROR_MEMBERS = ['code', 'message', 'param', 'type']

/** What must hold for any request whatever. */
async function check(request: FuzzRequest): Promise<void> {
  const headers: Record<string, string> = { ...request.headers }
  if (request.by === 'key' || request.by === 'both') headers.authorization = `Bearer ${attacker.key}`
  if (request.by === 'cookie' || request.by === 'both') headers.cookie = attacker.cookie
  const answer = await fetch(app.url + request.path, { method: request.method, headers, body: request.body })
  const text = await answer.text()
  assert.ok(answer.status < 500, `${answer.status} ${text}`)
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/)
  for (const secret of secrets) {
    if (!JSON.stringify(request).includes(secret)) assert.ok(!text.includes(secret), `leaked ${secret}`)
  }
  // A share link answers people, with a page.
  if (answer.status < 400 || request.path.startsWith('/s/')) return
  const { error, ...rest } = JSON.parse(text)
  assert.deepEqual([Object.keys(rest), Object.keys(error).sort()], [[], ERROR_MEMBERS])
  assert.ok(typeof error.message === 'string' && error.message.length > 0 && error.message.length < 2000, error.message)
  assert.ok(typeof error.type === 'string' && typeof error.code === 'string')
  assert.ok(error.param === null || typeof error.param === 'string')
  if (answer.status === 400 && request.path.startsWith('/v1/videos')) assert.equal(error.code, 'invalid_request_error')
}

/** Still there, books in order, and the other organization as it was. */
async function requireWell(): Promise<void> {
  assert.equal((await send(app, 'GET', '/healthz')).status, 200)
  assert.deepEqual(await app.audit(), {})
  const { body } = await send(app, 'GET', '/v1/videos', { key: victim.key })
  assert.deepEqual(
    body.data.map(({ prompt }: { prompt: string }) => prompt),
    [CANARY],
  )
  assert.equal((await send(app, 'GET', '/v1/files', { key: victim.key })).body.data.length, 1)
}

for (const { title, ...request } of CORPUS) {
  test(`corpus: ${title}`, async () => {
    for (const by of ['key', 'cookie', 'none'] as const) await check({ ...request, by })
  })
}

law('no request makes a 5xx, breaks the envelope, shows another organization or unbalances the books', async (seed) => {
  const known = { ids, pictures, model: 'instant-1' }
  const endpoints = app.app.routes.filter(({ path }) => !LEFT_OUT.test(path))
  const weights = endpoints.map((endpoint) => ({
    weight: endpoint.body ? 4 : 1,
    arbitrary: requestsFor(endpoint, known),
  }))
  const calls = fc.array(fc.oneof(...weights), { minLength: 1, maxLength: 12, size: 'max' })
  await fc.assert(
    fc.asyncProperty(calls, async (list) => {
      await Promise.all(list.map(check))
    }),
    { seed, numRuns: RUNS, interruptAfterTimeLimit: SECONDS_MAX * 1000, markInterruptAsFailure: false },
  )
  await requireWell()
})

test('jobs that the fuzz made run to their end like any other, and the books balance', async () => {
  await app.tick()
  await requireWell()
})
