import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sumChargesOfAnyOrg } from '../../../server/billing/store-reports.ts'
import { runCommand } from '../../support/command.ts'
import { plansOf } from '../../support/data/plans.ts'
import { newCustomer, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { endedVideo, startWebhooksApp, type WebhooksApp } from '../../support/webhooks/app.ts'

let service: WebhooksApp
let chatting: TestPerson
let tokens: { prompt_tokens: number; completion_tokens: number }
before(async () => {
  service = await startWebhooksApp()
  const { app } = service
  chatting = await newCustomer(app)
  const ask = async () => {
    const body = { model: 'sandbox-1', messages: [{ role: 'user', content: 'Hello' }] }
    return (await send(app, 'POST', '/v1/chat/completions', { key: chatting.key }, body)).body.usage
  }
  tokens = await ask()
  await endedVideo(service)
  // Ids begin with the time at which they were made, and never go back.
  app.clock.advance(30 * 3600)
  await ask()
})
after(() => service.close())

const run = (...args: string[]) => runCommand(['admin', 'usage', ...args], { DATABASE_URL: service.app.database.url })

// biome-ignore lint/suspicious/noExplicitAny: what the command prints.
async function json(...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await run(...args, '--json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

const tomorrow = () => new Date(Date.now() + 24 * 3_600_000).toISOString()

test('usage sums requests, tokens, seconds of video and amounts of the last day by organization and model', async () => {
  const { data, total, currency, has_more } = await json('--by', 'org,model', '--since', '24h', '--until', tomorrow())
  const { prompt_tokens, completion_tokens } = tokens
  const of = (model: string) => data.find((each: { model: string }) => each.model === model)
  const { organization, ...video } = of('instant-1')
  assert.match(organization, /^Acme/)
  const none = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, reasoning_tokens: 0 }
  assert.deepEqual(video, {
    organization_id: service.person.org_id,
    model: 'instant-1',
    requests: 0,
    ...none,
    videos: 1,
    seconds: 4,
    amount: '0.04000000',
  })
  const chat = of('sandbox-1')
  assert.deepEqual(
    [chat.organization_id, chat.requests, chat.input_tokens, chat.output_tokens, chat.videos],
    [chatting.org_id, 1, prompt_tokens, completion_tokens, 0],
  )
  const { rows } = await service.app.database.pool.query(
    `select -sum(amount)::bigint as amount from ledger_entries
     where kind = 'charge' and created_at < now() + interval '24 hours'`,
  )
  assert.deepEqual([total.requests, total.videos, currency, has_more], [1, 1, 'usd', false])
  assert.equal(total.amount.replace('.', '').replace(/^0+/, ''), String(rows[0].amount))
})

test('usage by key and by day, of one organization and of more than a day', async () => {
  const until = ['--until', '2099-01-01']
  const days = await json('--by', 'day', '--since', '48h', '--org', chatting.org_id, ...until)
  assert.deepEqual([days.data.length, days.total.requests, days.total.videos], [2, 2, 0])
  assert.match(days.data[0].day, /^20\d\d-\d\d-\d\d$/)
  const keys = await json('--by', 'key', ...until)
  assert.ok(keys.data.some(({ key_id }: { key_id: string }) => key_id === chatting.key_id))
  const cut = await json('--by', 'model', '--limit', '1', '--until', tomorrow())
  assert.deepEqual([cut.data.length, cut.has_more, cut.total.requests + cut.total.videos], [1, true, 2])
})

test('usage is a table with a line for all, also when nothing was charged', async () => {
  const { stdout } = await run('--by', 'org,model', '--until', tomorrow())
  assert.match(stdout, /^organization +model +requests +input +output +videos +seconds +usd\n/)
  assert.match(stdout, /\nin all +- +1 +\d+ +\d+ +1 +4 +0\.\d{8}\n$/)
  assert.match((await run('--until', '2020-01-01')).stdout, /\nin all +0 +0 +0 +0 +0 +0\.0{8}\n$/)
  const wrong = await run('--by', 'canary')
  assert.equal(wrong.code, 2)
  assert.doesNotMatch(wrong.stderr, /canary/)
})

test('usage reads the entries of the period by the time in their ids', async () => {
  const { database } = service.app
  await database.pool.query(
    `
    insert into ledger_entries (id, org_id, kind, amount, model, request_id, created_at)
    select 'le_00' || lpad(n::text, 24, '0'), $1, 'charge', -1, 'm', 'req_' || n, now() from generate_series(1, 20000) n`,
    [chatting.org_id],
  )
  await database.pool.query('analyze ledger_entries')
  const [since, until] = [new Date(Date.now() - 3_600_000), new Date()]
  for (const [org_id, index] of [
    [null, 'ledger_entries_pkey'],
    [chatting.org_id, 'ledger_entries_'],
  ] as const) {
    const wanted = { by: ['org', 'model'] as const, since, until, org_id, limit: 50 }
    const [plan] = await plansOf(database, (db) => sumChargesOfAnyOrg(db, wanted))
    assert.match(plan!, new RegExp(`Index Scan using ${index}|Bitmap Index Scan on ${index}`))
  }
})
