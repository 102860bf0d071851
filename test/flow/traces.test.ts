import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { openLog } from '../../server/platform/log.ts'
import { INSTANT_CONFIG, newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { close, listen } from '../support/listen.ts'
import { startOtlpReceiver } from './otlp-receiver.ts'

const PROMPT = 'A secret paper boat nobody may read of'
const CLIENT = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' }

async function chat(app: TestApp, person: TestPerson, traceparent: string): Promise<void> {
  const headers = { authorization: `Bearer ${person.key}`, 'content-type': 'application/json', traceparent }
  const body = JSON.stringify({ model: 'sandbox-1', stream: true, messages: [{ role: 'user', content: PROMPT }] })
  await (await fetch(`${app.url}/v1/chat/completions`, { method: 'POST', headers, body })).text()
}

test('a chat is part of the trace of its client, with gen_ai attributes and without its content', async () => {
  const receiver = await startOtlpReceiver()
  const app = await startApp({ config: `tracing: { otlp_url: "${receiver.url}" }` })
  const person = await newCustomer(app)
  await chat(app, person, `00-${CLIENT.trace}-${CLIENT.span}-01`)
  await app.close()
  receiver.close()
  const [request, turn] = ['POST /v1/chat/completions', 'chat sandbox-1'].map((name) =>
    receiver.spans.find((span) => span.name === name),
  )
  assert.deepEqual([request!.traceId, request!.parentSpanId], [CLIENT.trace, CLIENT.span])
  assert.deepEqual([turn!.traceId, turn!.parentSpanId], [CLIENT.trace, request!.spanId])
  assert.equal(request!.attributes['http.response.status_code'], 200)
  assert.equal(turn!.attributes['gen_ai.operation.name'], 'chat')
  assert.equal(turn!.attributes['gen_ai.request.model'], 'sandbox-1')
  assert.ok((turn!.attributes['gen_ai.usage.output_tokens'] as number) > 0)
  assert.ok(!receiver.text().includes('paper boat') && !receiver.text().includes(person.key))
})

test('spans that cannot be sent are a line with the status and the address of the collector', async (t) => {
  for (const [status, headers] of [
    [404, {}],
    [503, { 'retry-after': '100' }],
  ] as const) {
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(status, headers).end('canary'))
    })
    const host = `127.0.0.1:${await listen(server)}`
    t.after(() => close(server))
    const lines: Array<Record<string, unknown>> = []
    const log = openLog('info', { write: (line) => void lines.push(JSON.parse(line)) })
    const app = await startApp({ config: `tracing: { otlp_url: "http://${host}/v1/traces" }`, log })
    await send(app, 'GET', '/v1/models', await newCustomer(app))
    await app.close()
    const failed = lines.filter(({ event }) => event === 'tracing_failed')
    assert.deepEqual(
      failed.map(({ status, url }) => ({ status, url })),
      [{ status, url: `http://${host}/v1/traces` }],
    )
    assert.match(String(failed[0]!.detail), status === 404 ? /^Not Found$/ : /retryable/)
    assert.ok(!JSON.stringify(lines).includes('canary'))
  }
})

test('a job whose process changes midway has one trace, with every stage, of its own length', async () => {
  const receiver = await startOtlpReceiver()
  const config = `tracing: { otlp_url: "${receiver.url}" }\n${INSTANT_CONFIG}`
  const first = await startApp({ config })
  const person = await newCustomer(first)
  const created = await send(first, 'POST', '/v1/videos', { key: person.key }, videoBody({ prompt: PROMPT }))
  const { id } = created.body as { id: string }
  const second = await startApp({ config, beside: first })
  second.clock.set(first.clock.now())
  second.clock.advance(7)
  await second.tick()
  await second.close()
  await first.close()
  receiver.close()
  const submit = receiver.spans.find(({ name }) => name === 'video submit')!
  const job = receiver.spans.find(({ name }) => name === 'video job')!
  assert.equal(job.attributes['kinora.video_id'], id)
  assert.deepEqual([submit.links[0]!.traceId, submit.links[0]!.spanId], [job.traceId, job.spanId])
  const stages = receiver.spans.filter(({ parentSpanId }) => parentSpanId === job.spanId)
  assert.deepEqual(stages.map(({ name }) => name).sort(), [
    ...['video moderating', 'video queued', 'video rendering', 'video storing', 'video translating'],
  ])
  assert.ok(stages.every(({ traceId }) => traceId === job.traceId))
  assert.equal(stages.find(({ name }) => name === 'video moderating')!.duration_ms, 7000)
  const calls = receiver.spans.filter(({ traceId, name }) => traceId === job.traceId && name.startsWith('video start'))
  assert.ok(!receiver.spans.some(({ name }) => name === 'video poll'), 'a long render would have thousands')
  assert.equal(calls[0]!.parentSpanId, stages.find(({ name }) => name === 'video queued')!.spanId)
  assert.ok(!receiver.text().includes('paper boat'))
})

test('a client that sends its trace as not sampled is not traced, and a malformed one begins a trace of its own', async () => {
  const receiver = await startOtlpReceiver()
  const app = await startApp({ config: `tracing: { otlp_url: "${receiver.url}" }` })
  const person = await newCustomer(app)
  await chat(app, person, `00-${CLIENT.trace}-${CLIENT.span}-00`)
  await chat(app, person, `00-${'0'.repeat(32)}-${CLIENT.span}-01`)
  await app.close()
  receiver.close()
  const turns = receiver.spans.filter(({ name }) => name === 'chat sandbox-1')
  assert.equal(turns.length, 1)
  assert.notEqual(turns[0]!.traceId, CLIENT.trace)
})
