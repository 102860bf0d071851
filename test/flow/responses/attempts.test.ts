import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { openMeter } from '../../../server/billing/meter.ts'
import { openStorageGate } from '../../../server/billing/storage/gate.ts'
import { responseQueue } from '../../../server/responses/background/claims.ts'
import { runClaimed } from '../../../server/responses/background/run-claimed.ts'
import { openContextLengths } from '../../../server/responses/context/lengths.ts'
import { claimResponse } from '../../support/data/claims.ts'
import { newCustomer, type TestPerson } from '../../support/http/app.ts'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import { balanceOf, chargesOf } from '../../support/http/metered-chat-app.ts'
import { chunk, textFrames } from '../../support/upstream/chat-upstream.ts'

let service: BackgroundApp
before(async () => {
  service = await startBackgroundApp({ worker: false })
})
after(() => service.close())
afterEach(async () => {
  service.upstream.always(null)
  assert.deepEqual(await service.app.audit(), {})
})

const query = async (text: string, values: unknown[] = []) => (await service.app.database.pool.query(text, values)).rows

/** Runs a response until its model has answered a part, and ends the run as a stop of the service does. */
async function interrupt(id: string): Promise<void> {
  const meter = openMeter(service.app.ctx.db)
  const claimed = await claimResponse(service.app.ctx.db, id, `stopping/${id}`)
  service.upstream.reply({
    kind: 'stream',
    frames: textFrames(['A', ' discarded', ' answer']).slice(0, 4),
    done: false,
    finally: 'stall',
  })
  const stopping = new AbortController()
  const run = runClaimed(
    service.app.ctx,
    { meter, storage: openStorageGate(service.app.ctx.db), lengths: openContextLengths() },
    claimed!,
    stopping.signal,
  )
  while (
    (await query("select 1 from response_event_batches where response_id = $1 and events like '%discarded%'", [id]))
      .length === 0
  )
    await new Promise((resolve) => setTimeout(resolve, 5))
  stopping.abort(new Error('the service is stopping'))
  await assert.rejects(run, /stopping/)
  await meter.close()
  await responseQueue.claims.releaseAllBut(service.app.ctx.db, [])
}

const DELIVERED = { prompt_tokens: 40, completion_tokens: 300, total_tokens: 340 }
const delivery = () => ({
  kind: 'stream' as const,
  frames: [
    chunk({ content: 'Delivered' }),
    chunk({}, { finish_reason: 'stop' }),
    { ...chunk({}), choices: [], usage: DELIVERED },
  ],
})

test('a run that is released is not charged; the charge and the usage shown are those of the delivered answer', async () => {
  const person = await newCustomer(service.app)
  const { id } = (await service.submit({}, person)).body
  const before = await balanceOf(service.app, person)
  await interrupt(id)
  assert.deepEqual(await chargesOf(service.app, person), [])
  assert.equal(await balanceOf(service.app, person), before)
  service.upstream.reply(delivery())
  await service.tick()
  const { usage } = (await service.call('GET', id, person)).body
  assert.deepEqual([usage.input_tokens, usage.output_tokens], [40, 300])
  const charges = await chargesOf(service.app, person)
  assert.deepEqual(
    charges.map(({ input_tokens, output_tokens }) => [input_tokens, output_tokens]),
    [[40, 300]],
  )
  assert.equal(await balanceOf(service.app, person), before + charges[0]!.amount)
})

test('a response that is canceled after its run was released is not charged', async () => {
  const person = await newCustomer(service.app)
  const { id } = (await service.submit({}, person)).body
  await interrupt(id)
  const { status, usage } = (await service.call('POST', `${id}/cancel`, person)).body
  assert.deepEqual([status, usage.total_tokens], ['cancelled', 0])
  assert.deepEqual(await chargesOf(service.app, person), [])
})

test('the audit sees a run that was charged before it ended, and an answer whose charge is not its usage', async () => {
  const person = await newCustomer(service.app)
  const { id } = (await service.submit({}, person)).body
  const charge = `insert into ledger_entries (id, org_id, kind, amount, user_id, request_id, model, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, created_at)
    select 'le_' || r.id, org_id, 'charge', 0, user_id, request_id, model, 9, 0, 2, 0, now() from responses r where r.id = $1`
  await query(charge, [id])
  assert.deepEqual(await service.app.audit(), { I8: 1 })
  await query('alter table ledger_entries disable trigger user')
  await query(`delete from ledger_entries where id = 'le_' || $1`, [id])
  await query('alter table ledger_entries enable trigger user')
  service.upstream.reply(delivery())
  await service.tick()
  const shown = (await query('select body from responses where id = $1', [id]))[0].body
  const wrong = { ...shown, usage: { ...shown.usage, output_tokens: 1 } }
  await query('update responses set body = $2 where id = $1', [id, JSON.stringify(wrong)])
  assert.deepEqual(await service.app.audit(), { I25: 1 })
  await query('update responses set body = $2 where id = $1', [id, JSON.stringify(shown)])
})

/** A queued response of somebody about whom something changes before a worker claims it. */
async function runAfter(change: (person: TestPerson) => Promise<unknown>) {
  const person = await newCustomer(service.app)
  const { id } = (await service.submit({}, person)).body
  await change(person)
  const asked = service.upstream.requests.length
  await service.tick()
  assert.equal(service.upstream.requests.length, asked, 'the model was not asked')
  const [row] = await query('select body, status from responses where id = $1', [id])
  assert.deepEqual(await chargesOf(service.app, person), [])
  return [row.status, row.body.error.code]
}

test('a key that was revoked while a response waited: the response fails with `invalid_api_key`, and no model is asked', async () => {
  const ended = await runAfter(({ key_id }) => query('update api_keys set revoked_at = now() where id = $1', [key_id]))
  assert.deepEqual(ended, ['failed', 'invalid_api_key'])
})

test('a person who is no longer a member: the response fails with `invalid_api_key`, and no model is asked', async () => {
  const ended = await runAfter(({ user_id }) => query('delete from members where user_id = $1', [user_id]))
  assert.deepEqual(ended, ['failed', 'invalid_api_key'])
})

test('a plan that lost the model: the response fails with `model_not_found`, and no model is asked', async () => {
  const ended = await runAfter(({ org_id }) => query(`update organizations set plan = 'bare' where id = $1`, [org_id]))
  assert.deepEqual(ended, ['failed', 'model_not_found'])
})
