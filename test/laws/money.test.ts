import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { placeHolds, settleHolds } from '../../server/billing/holds.ts'
import { quoteVideo } from '../../server/billing/pricing.ts'
import { newId } from '../../server/platform/ids.ts'
import { formatMoney, parseMoney } from '../../server/platform/money.ts'
import { law } from '../support/law.ts'
import { books, COST, grant, newPayer, type ScriptedApp, startScriptedApp } from './scripted-app.ts'

let app: ScriptedApp
before(async () => {
  app = await startScriptedApp({ slots: 3 })
})
after(() => app.close())

/** A hold outside of any job, and what `settleHolds` wants to know of one. */
async function held() {
  const { org_id, user_id } = await newPayer(app, COST * 5n)
  const now = app.clock.now()
  const id = newId('video', now)
  await app.ctx.db
    .transaction()
    .execute((tx) => placeHolds(tx, [{ job_id: id, org_id, amount: COST, running_max: 3, now }]))
  return { org_id, job: { id, org_id, user_id, key_id: null, request_id: 'req', model: 'm', seconds: 4 } }
}

test('law: a hold is settled once, whatever tries to settle it, and however often at the same time', async () => {
  for (let round = 0; round < 5; round++) {
    const { org_id, job } = await held()
    const now = app.clock.now()
    const settled = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        app.ctx.db
          .transaction()
          .execute((tx) =>
            settleHolds(tx, { captured: i % 2 === 0 ? [job] : [], released: i % 2 === 0 ? [] : [job.id], now }),
          )
          .then(
            () => true,
            (error: Error) => {
              assert.match(error.message, /settled before/)
              return false
            },
          ),
      ),
    )
    assert.equal(settled.filter(Boolean).length, 1)
    const { balance, held: left, running, charges, entries } = await books(app, org_id)
    const captured = settled.findIndex(Boolean) % 2 === 0
    assert.deepEqual([balance, left, running, charges], [captured ? COST * 4n : COST * 5n, 0n, 0, captured ? 1 : 0])
    assert.equal(balance, entries)
  }
})

test('law: a balance below zero holds nothing, and what is held is never spent twice', async () => {
  const payer = await newPayer(app, COST)
  await grant(app, payer.org_id, -COST * 2n)
  const now = app.clock.now()
  const place = (amount: bigint) =>
    app.ctx.db
      .transaction()
      .execute((tx) =>
        placeHolds(tx, [{ job_id: newId('video', now), org_id: payer.org_id, amount, running_max: 3, now }]),
      )
  for (const amount of [0n, 1n, COST]) await assert.rejects(place(amount), { code: 'insufficient_credits' })
  await grant(app, payer.org_id, COST * 2n)
  await place(COST)
  await assert.rejects(place(1n), { code: 'insufficient_credits' })
  await place(0n)
  assert.equal((await books(app, payer.org_id)).held, COST)
})

law('quotes are exact, and money reads as it is written', (seed) => {
  const money = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n })
  fc.assert(
    fc.property(money, (units) => parseMoney(formatMoney(units)) === units),
    { seed, numRuns: 2000 },
  )
  const price = fc.bigInt({ min: 0n, max: 10n ** 15n })
  const sums = (per_second: bigint, seconds: number) =>
    Array.from({ length: seconds }, () => per_second).reduce((sum, each) => sum + each, 0n)
  fc.assert(
    fc.property(
      price,
      fc.integer({ min: 4, max: 15 }),
      (per_second, seconds) => quoteVideo(per_second, seconds) === sums(per_second, seconds),
    ),
    { seed, numRuns: 2000 },
  )
})
