import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { formatMoney, parseMoney } from '../../../server/platform/money.ts'
import type { TestPerson } from '../../support/http/app.ts'
import {
  ask,
  balanceOf,
  chargesOf,
  costOf,
  customer,
  grant,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { send } from '../../support/http/send.ts'
import { chunk, textFrames, USAGE } from '../../support/upstream/chat-upstream.ts'

let service: MeteredChatApp
before(async () => {
  service = await startMeteredChatApp()
})
after(async () => {
  assert.deepEqual(await service.app.audit(), {})
  await service.close()
})

const SAID = costOf({ input: USAGE.prompt_tokens, output: USAGE.completion_tokens })
const times = <T>(count: number, make: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)))
const console_ = (path: string, who: TestPerson) => send(service.app, 'GET', `/console/${path}`, { cookie: who.cookie })

test('an entry names the request, the key, the person, the model and every kind of token', async () => {
  const person = await customer(service)
  const usage = {
    prompt_tokens: 1000,
    prompt_tokens_details: { cached_tokens: 640 },
    completion_tokens: 300,
    completion_tokens_details: { reasoning_tokens: 120 },
  }
  service.upstream.reply({
    kind: 'stream',
    frames: [chunk({ content: 'x' }), chunk({}, { finish_reason: 'stop', usage })],
  })
  const { headers } = await ask(service.app, person, { stream: true })
  const [entry] = await chargesOf(service.app, person)
  const amount = costOf({ input: 1000, cached: 640, output: 300 })
  assert.equal(amount, (360n * 13_700_001n + 640n * 4_100_003n + 300n * 59_300_007n + 999_999n) / 1_000_000n)
  assert.deepEqual(entry, {
    id: entry!.id,
    org_id: person.org_id,
    kind: 'charge',
    amount: -amount,
    job_id: null,
    user_id: person.user_id,
    key_id: person.key_id,
    request_id: headers.get('x-request-id'),
    model: 'far-1',
    seconds: null,
    note: null,
    created_at: service.app.clock.now(),
    input_tokens: 1000,
    cached_input_tokens: 640,
    output_tokens: 300,
    reasoning_tokens: 120,
  })
})

test('a person at the console is charged as the person, without a key', async () => {
  const person = await customer(service)
  const body = { model: 'far-1', messages: [{ role: 'user', content: 'Hello' }] }
  const headers = { origin: service.app.url, 'sec-fetch-site': 'same-origin' }
  const { status } = await send(service.app, 'POST', '/v1/chat/completions', { cookie: person.cookie, headers }, body)
  assert.equal(status, 200)
  const [entry, ...more] = await chargesOf(service.app, person)
  assert.deepEqual([entry!.user_id, entry!.key_id, entry!.amount, more.length], [person.user_id, null, -SAID, 0])
})

test('the console shows the tokens of each charge, and its usage sums equal the ledger', async () => {
  const person = await customer(service)
  const clues = ['rain', 'snow and ice', 'a long walk along the river']
  for (const [i, content] of [...clues, ...clues].entries()) {
    const changes = i % 2 ? { messages: [{ role: 'user', content }], model: 'sandbox-1', reasoning_effort: 'low' } : {}
    assert.equal((await ask(service.app, person, { ...changes, stream: i % 3 === 0 })).status, 200)
  }
  service.app.clock.advance(1)
  const { data } = (await console_('ledger?limit=100', person)).body
  const entries = data.filter(({ kind }: { kind: string }) => kind === 'charge')
  const rows = await chargesOf(service.app, person)
  const names = ['input_tokens', 'cached_input_tokens', 'output_tokens', 'reasoning_tokens'] as const
  assert.equal(entries.length, 6)
  for (const [i, entry] of entries.toReversed().entries()) {
    for (const name of names) assert.equal(entry[name], rows[i]![name])
    assert.equal(parseMoney(entry.amount), rows[i]!.amount)
  }
  const opening = data.find(({ kind }: { kind: string }) => kind === 'grant')
  assert.deepEqual(
    names.map((name) => opening[name]),
    [null, null, null, null],
  )
  const sum = (list: typeof rows, name: (typeof names)[number]) => list.reduce((all, row) => all + row[name]!, 0)
  for (const group_by of ['day', 'model', 'key', 'person']) {
    const { body } = await console_(`usage?group_by=${group_by}`, person)
    assert.equal(body.total, formatMoney(10_000_000_000n - (await balanceOf(service.app, person))))
    assert.equal(body.data.length, group_by === 'model' ? 2 : 1)
    for (const { group, input_tokens, output_tokens, video_seconds } of body.data) {
      const own = rows.filter(({ model }) => group_by !== 'model' || model === group)
      assert.deepEqual([input_tokens, output_tokens], [sum(own, 'input_tokens'), sum(own, 'output_tokens')])
      assert.equal(video_seconds, 0)
    }
  }
})

test('a balance one unit above zero admits a request of any price and becomes negative by the rest', async () => {
  const person = await customer(service, 1n)
  assert.equal((await ask(service.app, person)).status, 200)
  assert.equal(await balanceOf(service.app, person), 1n - SAID)
  const asked = service.upstream.requests.length
  for (const stream of [false, true]) {
    const { status, body } = await ask(service.app, person, { stream })
    assert.deepEqual([status, body.error.code, body.error.type], [402, 'insufficient_credits', 'insufficient_quota'])
  }
  assert.equal(service.upstream.requests.length, asked)
  assert.equal((await chargesOf(service.app, person)).length, 1)
  await grant(service.app, person, SAID)
  assert.equal((await ask(service.app, person)).status, 200)
})

test('402 at zero, for every model, and nothing is written', async () => {
  const person = await customer(service, 0n)
  for (const model of ['far-1', 'sandbox-1']) assert.equal((await ask(service.app, person, { model })).status, 402)
  assert.deepEqual(await chargesOf(service.app, person), [])
})

test('a request that is not admitted, or not valid, leaves no entry', async () => {
  const person = await customer(service)
  const bad = [{ model: 'nowhere-1' }, { temperature: 3 }, { messages: [] }, { stream_options: {} }]
  for (const changes of bad) assert.ok((await ask(service.app, person, changes)).status >= 400)
  assert.deepEqual(await chargesOf(service.app, person), [])
})

/** Locks the account's row, runs `use`, and releases the lock once the charge waits for it. `use` gets a function that checks whether it does. */
async function whileLocked<T>(person: TestPerson, use: () => Promise<T>, check: () => void): Promise<T> {
  const { db } = service.app.database
  return db
    .transaction()
    .execute(async (tx) => {
      await sql`select from accounts where org_id = ${person.org_id} for update`.execute(tx)
      const used = use()
      for (let waiting = 0n; waiting === 0n; ) {
        const { rows } = await sql<{ waiting: bigint }>`
        select count(*) as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%accounts_in_order%'`.execute(
          db,
        )
        waiting = rows[0]!.waiting
      }
      check()
      return { used }
    })
    .then(({ used }) => used)
}

test('no answer ends before its usage is committed: not a plain one, not a stream, not one that broke off', async () => {
  const person = await customer(service)
  const broken = { kind: 'stream', frames: textFrames(['Hi']).slice(0, 2), done: false } as const
  for (const [changes, reply, end] of [
    [{ stream: true }, null, '[DONE]'],
    [{ stream: true }, broken, '[DONE]'],
    [{}, null, '"usage"'],
  ] as const) {
    if (reply) service.upstream.reply(reply)
    let text = ''
    const read = async () => {
      const body = JSON.stringify({ model: 'far-1', messages: [{ role: 'user', content: 'Hello' }], ...changes })
      const headers = { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' }
      const answer = await fetch(`${service.app.url}/v1/chat/completions`, { method: 'POST', headers, body })
      const decoder = new TextDecoder()
      for await (const bytes of answer.body!) text += decoder.decode(bytes, { stream: true })
      return (await chargesOf(service.app, person)).length
    }
    const before = (await chargesOf(service.app, person)).length
    const after = await whileLocked(person, read, () => assert.ok(!text.includes(end) && !text.includes('error')))
    assert.ok(text.includes(end))
    assert.equal(after, before + 1)
  }
})

test('200 concurrent requests make 200 entries whose sum is the balance, in few commits', async () => {
  const person = await customer(service)
  await ask(service.app, person)
  const before = service.upstream.requests.length
  // No charge can be committed until all have been asked for.
  const lock = await service.app.database.pool.connect()
  await lock.query('begin')
  await lock.query('select 1 from accounts where org_id = $1 for update', [person.org_id])
  const answering = times(199, (i) => ask(service.app, person, { stream: i % 2 === 0 }))
  while (service.upstream.requests.length < before + 199) await pause(5)
  await lock.query('commit')
  lock.release()
  const answers = await answering
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  const entries = await chargesOf(service.app, person)
  assert.equal(entries.length, 200)
  assert.equal(new Set(entries.map(({ request_id }) => request_id)).size, 200)
  assert.equal(await balanceOf(service.app, person), 10_000_000_000n - 200n * SAID)
  const { rows } = await sql<{ commits: bigint }>`
    select count(distinct xmin::text) as commits from ledger_entries where org_id = ${person.org_id} and kind = 'charge'`.execute(
    service.app.database.db,
  )
  assert.ok(rows[0]!.commits < 160n, `${rows[0]!.commits} commits`)
})

test('with two processes on one database every answer is charged once, and both see the same balance', async () => {
  const beside = await startMeteredChatApp({ beside: service })
  const person = await customer(service, SAID * 150n)
  const answers = await times(200, (i) => ask([service, beside][i % 2]!.app, person, { stream: i % 3 === 0 }))
  const answered = answers.filter(({ status }) => status === 200)
  assert.ok(answered.length >= 150)
  assert.ok(answers.every(({ status }) => status === 200 || status === 402))
  assert.equal((await chargesOf(service.app, person)).length, answered.length)
  assert.equal(await balanceOf(service.app, person), SAID * 150n - SAID * BigInt(answered.length))
  await beside.close()
})
