import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { armFailpoint } from '../../server/platform/failpoint.ts'
import { runJob } from '../../server/videos/pipeline/step.ts'
import { findRunningJobOfAnyOrg } from '../../server/videos/pipeline/store.ts'
import type { Person } from '../support/http/people.ts'
import type { HttpResponse } from '../support/http/send.ts'
import { roundsOf } from '../tiers.ts'
import {
  books,
  COST,
  cancel,
  grant,
  newPayer,
  remove,
  type ScriptedApp,
  startScriptedApp,
  submit,
  work,
} from './scripted-app.ts'

const SLOTS = 7
/** Rounds of every kind; a long run asks for more. */
const ROUNDS = roundsOf(4)

let app: ScriptedApp
before(async () => {
  app = await startScriptedApp({ slots: SLOTS })
})
after(() => app.close())
afterEach(async () => {
  Object.assign(app.script, { render: 'succeed', moderation: 'allow' })
  assert.deepEqual(await app.audit(), {})
})

const rounds = Array.from({ length: ROUNDS }, (_, i) => i)
const times = <T>(count: number, make: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)))
const count = (answers: HttpResponse[], status: number) => answers.filter((answer) => answer.status === status).length

/** A job that is rendered and only has to be collected. */
async function rendering(person: Person): Promise<string> {
  app.script.render = 'running'
  const { body } = await submit(app, person)
  await app.tick()
  app.script.render = 'succeed'
  app.clock.advance(10)
  return body.id
}

test('200 submissions at once: never one more than the balance covers', async () => {
  for (const _ of rounds) {
    const payer = await newPayer(app, COST * 5n + COST - 1n)
    const answers = await times(200, () => submit(app, payer))
    assert.deepEqual([count(answers, 200), count(answers, 402)], [5, 195])
    const { held, running } = await books(app, payer.org_id)
    assert.deepEqual([held, running], [COST * 5n, 5])
    await app.tick()
  }
})

test('200 submissions at once: never one more than the plan has slots', async () => {
  for (const _ of rounds) {
    const payer = await newPayer(app, COST * 10n)
    const answers = await times(200, () => submit(app, payer))
    assert.deepEqual([count(answers, 200), count(answers, 429)], [SLOTS, 200 - SLOTS])
    await app.tick()
    const { balance, held, running, charges } = await books(app, payer.org_id)
    assert.deepEqual([balance, held, running, charges], [COST * 3n, 0n, 0, SLOTS])
  }
})

test('submissions while jobs complete and credits come and go: the books are right at the end and no slot leaks', async () => {
  for (const _ of rounds) {
    const payer = await newPayer(app, COST * 6n)
    const [answers] = await Promise.all([
      times(60, () => submit(app, payer)),
      times(10, () => app.tick()),
      times(10, (i) => grant(app, payer.org_id, i % 2 === 0 ? COST : -COST)),
    ])
    for (let settled = false; !settled; ) {
      await app.tick()
      settled = (await books(app, payer.org_id)).running === 0
    }
    const { balance, held, entries, charges, completed } = await books(app, payer.org_id)
    assert.ok(charges > 0)
    assert.equal(charges, count(answers, 200))
    assert.deepEqual([balance, held, completed], [entries, 0n, charges])
    assert.equal(balance, COST * 6n - COST * BigInt(charges))
  }
})

test('one idempotency key fifty times at once: one job, one charge', async () => {
  for (const round of rounds) {
    const payer = await newPayer(app, COST * 50n)
    const key = `round ${round}`
    const answers = await times(50, () => submit(app, payer, { key }))
    assert.equal(count(answers, 200) + count(answers, 409), 50)
    assert.equal(
      new Set(answers.filter(({ status }) => status === 200).map(({ body }) => JSON.stringify(body))).size,
      1,
    )
    await app.tick()
    const again = await submit(app, payer, { key })
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    const { jobs, charges } = await books(app, payer.org_id)
    assert.deepEqual([jobs, charges], [1, 1])
  }
})

test('one key with two bodies at once: one job, and the other body is never taken for it', async () => {
  for (const round of rounds) {
    const payer = await newPayer(app, COST * 50n)
    const answers = await times(20, (i) => submit(app, payer, { key: `two ${round}`, seconds: 4 + (i % 2) }))
    const taken = new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body.seconds))
    assert.equal(taken.size, 1)
    assert.ok(answers.every(({ status }) => [200, 409, 422].includes(status)))
    assert.equal((await books(app, payer.org_id)).jobs, 1)
    await app.tick()
  }
})

test('cancellation against completion: one of them wins, and a charge is there exactly when completion did', async () => {
  const wins = { completed: 0, canceled: 0 }
  for (let round = 0; round < ROUNDS * 8; round++) {
    const payer = await newPayer(app, COST)
    const id = await rendering(payer)
    const canceled = Promise.withResolvers<HttpResponse>()
    const place = ['output_staged', 'output_published', 'before_completed'][round % 3]
    const begin = () => cancel(app, payer, id).then(canceled.resolve, canceled.reject)
    // However fast the machine is, each of the two comes first in one round.
    if (round === 0) await begin()
    if (round > 1) armFailpoint(place, () => void later(round % 5).then(begin))
    await work(app, id, `race/${round}`)
    if (round === 1) await begin()
    const answer = await canceled.promise
    const { status } = (await findRunningJobOfAnyOrg(app.ctx.db, id))!
    assert.ok(status === 'completed' || status === 'canceled')
    wins[status] += 1
    assert.equal(answer.status, status === 'canceled' ? 200 : 409)
    const { charges, held } = await books(app, payer.org_id)
    assert.deepEqual([charges, held], [status === 'completed' ? 1 : 0, 0n])
  }
  assert.ok(wins.completed > 0 && wins.canceled > 0, `the race was none: ${JSON.stringify(wins)}`)
})

test('deletion against completion: a running job is never deleted, a deleted one leaves its charge and no clip', async () => {
  const ends = new Set<number>()
  for (let round = 0; round < ROUNDS * 8; round++) {
    const payer = await newPayer(app, COST)
    const id = await rendering(payer)
    const removed = Promise.withResolvers<HttpResponse[]>()
    const removals = () => times(4, (i) => later(i * 3 + (round % 5)).then(() => remove(app, payer, id)))
    const begin = () => removals().then(removed.resolve, removed.reject)
    // As above.
    if (round === 0) await begin()
    if (round > 1) armFailpoint('before_completed', () => void begin())
    await work(app, id, `delete/${round}`)
    if (round === 1) await begin()
    const answers = await removed.promise
    for (const { status } of answers) ends.add(status)
    assert.ok(answers.every(({ status }) => [200, 404, 409].includes(status)))
    assert.ok(count(answers, 200) <= 1)
    const { charges, held, jobs } = await books(app, payer.org_id)
    assert.deepEqual([charges, held, jobs], [1, 0n, 1 - count(answers, 200)])
  }
  assert.ok(ends.has(200) && ends.has(409), `the race was none: ${[...ends]}`)
})

test('twenty workers with the same job: every transition happens once, and so does the charge', async () => {
  for (const round of rounds) {
    const payer = await newPayer(app, COST)
    const { body } = await submit(app, payer)
    const job = (await findRunningJobOfAnyOrg(app.ctx.db, body.id))!
    // Without a claim, as when every lease had run out: the fence of the status alone has to hold.
    await times(round % 2 === 0 ? 20 : 3, () =>
      runJob(app.ctx, job, { signal: new AbortController().signal, faults: new Map() }),
    )
    await app.tick()
    const { charges, held, running } = await books(app, payer.org_id)
    assert.deepEqual([charges, held, running], [1, 0n, 0])
  }
})

/** Lets a few turns of the event loop go by. */
async function later(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise(setImmediate)
}
