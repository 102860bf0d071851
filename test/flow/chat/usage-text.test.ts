import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openMeter } from '../../../server/billing/meter.ts'
import { newRequestId } from '../../../server/platform/ids.ts'
import { newCustomer, startApp, type TestApp } from '../../support/http/app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

/** Texts that an array in PostgreSQL's own notation could take for something else. */
const MODELS = ['plain-1', 'a"b', 'c\\d', '\\"', '{x,y}', 'NULL', '', ' padded ', 'two\nlines', '日本語', "it's"]

test('usage is stored with the exact model name, time and numbers, whatever characters they contain', async () => {
  const { org_id, user_id } = await newCustomer(app)
  const meter = openMeter(app.ctx.db)
  const now = new Date('2026-11-20T12:34:56.789Z')
  const charges = MODELS.map((model, i) => ({
    request_id: newRequestId(),
    org_id,
    user_id,
    key_id: i % 2 ? `key_${i}` : null,
    model,
    now,
    input_tokens: i,
    cached_input_tokens: 0,
    output_tokens: 2 ** 31 - 1,
    reasoning_tokens: 1,
    amount: BigInt(i),
  }))
  await Promise.all(charges.map((charge) => meter.charge(charge)))
  const rows = await app.ctx.db
    .selectFrom('ledger_entries')
    .select(['request_id', 'model', 'key_id', 'amount', 'input_tokens', 'output_tokens', 'created_at'])
    .where('org_id', '=', org_id)
    .where('kind', '=', 'charge')
    .orderBy('input_tokens')
    .execute()
  const expected = charges.map(({ request_id, model, key_id, amount, input_tokens, output_tokens }) => ({
    request_id,
    model,
    key_id,
    amount: -amount,
    input_tokens,
    output_tokens,
    created_at: now,
  }))
  assert.deepEqual(rows, expected)
  await meter.close()
})
