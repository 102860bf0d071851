import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TestPerson } from '../../support/http/app.ts'
import {
  ask,
  balanceOf,
  canariesIn,
  chargesOf,
  costOf,
  customer,
  eventsOf,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { type Bill, UPSTREAM_CASES, type UpstreamCase } from './upstream-cases.ts'

let service: MeteredChatApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp()
  person = await customer(service)
})
after(() => service.close())

for (const [name, row] of Object.entries(UPSTREAM_CASES)) {
  for (const kind of ['stream', 'plain'] as const) {
    if (row.only && row.only !== kind) continue
    test(`a model server that ${name}: ${kind === 'stream' ? 'streamed' : 'a plain answer'}`, () => check(row, kind))
  }
}

test('503 while the model server is down, and answers once it is up again', async () => {
  const lost = await startMeteredChatApp()
  const person = await customer(lost)
  await lost.upstream.close()
  for (const stream of [true, false]) {
    const { status, body } = await ask(lost.app, person, { stream })
    assert.deepEqual([status, body.error.code, body.error.type], [503, 'server_is_overloaded', 'server_error'])
  }
  const bills = await chargesOf(lost.app, person)
  assert.deepEqual(
    bills.map(({ amount, input_tokens }) => [amount, input_tokens]),
    [
      [0n, 0],
      [0n, 0],
    ],
  )
  assert.deepEqual(canariesIn(lost.lines.join(''), lost.upstream), [])
  assert.equal((await ask(lost.app, person, { model: 'sandbox-1' })).status, 200)
  await lost.close().catch(() => {})
})

async function check(row: UpstreamCase, kind: 'stream' | 'plain'): Promise<void> {
  const { app, upstream, lines } = service
  const before = lines.length
  const balance = await balanceOf(app, person)
  upstream.reply(row.reply)
  const answer = await ask(app, person, { model: row.model ?? 'far-1', stream: kind === 'stream' })
  const { status, headers, text, body } = answer
  assert.match(headers.get('x-request-id')!, /^req_/)
  if (row.early || (row.late && kind === 'plain')) {
    const expected = row.early ?? LATE_STATUS[row.late!]!
    assert.deepEqual([status, body.error.code], expected, text)
    assert.deepEqual(Object.keys(body.error).toSorted(), ['code', 'message', 'param', 'type'])
    if (row.retry_after) assert.equal(headers.get('retry-after'), row.retry_after)
  } else if (kind === 'stream') {
    checkStream(row, text)
  } else {
    assert.equal(status, 200, text)
    assert.equal(body.choices[0].message.content ?? '', row.text)
    assert.deepEqual([body.usage.prompt_tokens, body.usage.completion_tokens], [row.bill.input, row.bill.output])
    row.sees?.({ ...body.choices[0].message, finish_reason: body.choices[0].finish_reason })
  }
  await checkBill(row.bill, { request_id: headers.get('x-request-id')!, balance })
  assert.deepEqual(canariesIn(text + JSON.stringify([...headers]), upstream), [], 'sent to the client')
  assert.deepEqual(canariesIn(lines.slice(before).join(''), upstream), [], 'written to the log')
  // The service is well, and so is the next answer.
  assert.equal((await ask(app, person)).body.choices[0].message.content, 'Hello there.')
}

const LATE_STATUS: Record<string, [number, string]> = {
  upstream_error: [502, 'upstream_error'],
  upstream_timeout: [504, 'upstream_timeout'],
}

function checkStream({ text: expected, late, bill, sees }: UpstreamCase, text: string): void {
  const events = eventsOf(text)
  assert.equal(events.at(-1), '[DONE]')
  const chunks = events.filter((event) => event.choices)
  const deltas = chunks.map(({ choices }) => choices[0])
  assert.equal(deltas.map(({ delta }) => delta.content ?? '').join(''), expected)
  assert.ok(bill.input >= 0)
  if (late) {
    assert.equal(events.at(-2).error.code, late)
    assert.equal(events.length, chunks.length + 2)
    assert.ok(deltas.every(({ finish_reason }) => finish_reason === null))
    return
  }
  assert.equal(events.length, chunks.length + 1)
  if (!sees) return
  const calls: Array<{ id: string; function: { name: string; arguments: string } }> = []
  for (const { delta } of deltas) {
    for (const { index, id, function: called } of delta.tool_calls ?? []) {
      if (id) calls[index] = { id, function: { ...called } }
      else calls[index]!.function.arguments += called.arguments
    }
  }
  sees({ tool_calls: calls, finish_reason: deltas.at(-1).finish_reason })
}

async function checkBill(bill: Bill, before: { request_id: string; balance: bigint }): Promise<void> {
  const bills = await chargesOf(service.app, person)
  const [charge, ...more] = bills.filter(({ request_id }) => request_id === before.request_id)
  assert.equal(more.length, 0)
  const { input, cached = 0, output, reasoning = 0 } = bill
  assert.deepEqual(
    [charge!.input_tokens, charge!.cached_input_tokens, charge!.output_tokens, charge!.reasoning_tokens],
    [input, cached, output, reasoning],
  )
  assert.equal(-charge!.amount, costOf(bill))
  assert.equal(await balanceOf(service.app, person), before.balance - costOf(bill))
}
