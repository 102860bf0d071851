import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { chargesOf, eventsOf } from '../../support/http/metered-chat-app.ts'
import { chunk, completion, textFrames } from '../../support/upstream/chat-upstream.ts'

/** `m` leaves choices to its server, `fan` asks for each by itself, `one` makes one alone. */
let service: ChatApp
before(async () => {
  service = await startChatApp([{ id: 'm' }, { id: 'fan', n: 'fan_out' }, { id: 'one', n: 1 }])
})
after(() => service.close())

const usage = (prompt_tokens: number, completion_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
  prompt_tokens_details: { cached_tokens: 1, audio_tokens: 2 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 3 },
})

test('200 with `fan_out`: one call a choice with a seed of its own, each by its index, one charge of the sum', async () => {
  service.upstream.requests.length = 0
  for (let i = 0; i < 3; i++)
    service.upstream.reply({ kind: 'json', body: completion({ content: 'Hi' }, { usage: usage(9, 4) }) })
  const charged = (await chargesOf(service.app, service.person)).length
  const { status, body } = await service.chat({ model: 'fan', n: 3, seed: 7 })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(
    body.choices.map(({ index }: { index: number }) => index),
    [0, 1, 2],
  )
  assert.deepEqual(service.upstream.requests.map(({ json }) => [json?.n ?? 1, json?.seed]).sort(), [
    [1, 7],
    [1, 8],
    [1, 9],
  ])
  assert.deepEqual([body.usage.prompt_tokens, body.usage.completion_tokens], [27, 12])
  assert.equal(body.usage.prompt_tokens_details.audio_tokens, 6)
  assert.equal(body.usage.completion_tokens_details.audio_tokens, 9)
  const charges = (await chargesOf(service.app, service.person)).slice(charged)
  assert.deepEqual(
    charges.map(({ input_tokens, output_tokens }) => [input_tokens, output_tokens]),
    [[27, 12]],
  )
})

test('200 streamed with `fan_out`: every choice from its role to its `finish_reason`, one usage, one end', async () => {
  for (let i = 0; i < 2; i++) service.upstream.reply({ kind: 'stream', frames: textFrames(['One', ' two']) })
  const answer = await fetch(`${service.app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.person.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'fan',
      n: 2,
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'Hi' }],
    }),
  })
  const events = eventsOf(await answer.text())
  assert.equal(events.at(-1), '[DONE]')
  const chunks = events.slice(0, -1)
  for (const index of [0, 1]) {
    const own = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index)
    assert.equal(own.map(({ delta }) => delta.content ?? '').join(''), 'One two')
    assert.equal(own.filter(({ finish_reason }) => finish_reason === 'stop').length, 1)
  }
  assert.equal(chunks.filter(({ usage }) => usage).length, 1)
})

test('502 with `fan_out` when one of the calls is refused; nothing was sent, so nothing is charged', async () => {
  const charged = (await chargesOf(service.app, service.person)).length
  service.upstream.reply({ kind: 'json', body: completion({ content: 'Hi' }) }, { kind: 'json', status: 500, body: {} })
  const { status } = await service.chat({ model: 'fan', n: 2 })
  assert.equal(status, 502)
  const charges = (await chargesOf(service.app, service.person)).slice(charged)
  assert.ok(charges.every(({ amount }) => amount === 0n))
})

test('200 with `fan_out`: a choice whose reported usage is beyond all bounds is counted, the others are not', async () => {
  const charged = (await chargesOf(service.app, service.person)).length
  service.upstream.reply({ kind: 'json', body: completion({ content: 'Hi' }, { usage: usage(9, 4) }) })
  service.upstream.reply({
    kind: 'json',
    body: completion({ content: 'Hi there' }, { usage: usage(9, 3_000_000_000) }),
  })
  assert.equal((await service.chat({ model: 'fan', n: 2 })).status, 200)
  const charges = (await chargesOf(service.app, service.person)).slice(charged)
  assert.deepEqual(
    charges.map(({ input_tokens, output_tokens }) => [input_tokens, output_tokens]),
    [[9 + 7, 4 + 2]],
  )
})

test('502 with `fan_out`: calls that reported usage before another broke off are charged by that usage', async () => {
  const charged = (await chargesOf(service.app, service.person)).length
  for (let i = 0; i < 2; i++)
    service.upstream.reply({ kind: 'json', body: completion({ content: 'Hi' }, { usage: usage(900, 400) }) })
  const frames = [chunk({ content: 'Hello again' }), ': no more\n\n']
  service.upstream.reply({ kind: 'stream', frames, hold_after: 1, done: false, finally: 'reset' })
  const answer = await fetch(`${service.app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.person.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fan', n: 3, stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
  })
  let text = ''
  let released = false
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (released || text.split('"finish_reason":"stop"').length < 3 || !text.includes('Hello again')) continue
    released = true
    service.upstream.release()
  }
  assert.match(text, /upstream_error/)
  const charges = (await chargesOf(service.app, service.person)).slice(charged)
  assert.deepEqual(
    charges.map(({ input_tokens, output_tokens }) => [input_tokens, output_tokens]),
    [[1800 + 7, 800 + 2]],
  )
})

test('400 `unsupported_value` for several choices of a model that supports one', async () => {
  const asked = service.upstream.requests.length
  const { status, body } = await service.chat({ model: 'one', n: 2 })
  assert.deepEqual([status, body.error.code, body.error.param], [400, 'unsupported_value', 'n'])
  assert.equal(service.upstream.requests.length, asked)
  assert.equal((await service.chat({ model: 'one', n: 1 })).status, 200)
})

test('200 with fewer choices when the server ignores `n`: those it made are returned and charged', async () => {
  const charged = (await chargesOf(service.app, service.person)).length
  service.upstream.reply({ kind: 'json', body: completion({ content: 'Hi' }, { usage: usage(9, 4) }) })
  const { status, body } = await service.chat({ n: 3 })
  assert.deepEqual([status, body.choices.length], [200, 1])
  assert.deepEqual([body.usage.completion_tokens, body.usage.prompt_tokens_details.audio_tokens], [4, 2])
  assert.equal((await chargesOf(service.app, service.person)).length, charged + 1)
})

test('502 when a stream of several choices breaks off between them', async () => {
  service.upstream.reply({
    kind: 'stream',
    frames: [chunk({ content: 'Hi' }), chunk({}, { finish_reason: 'stop' })],
    done: false,
    finally: 'end',
  })
  assert.equal((await service.chat({ n: 2 })).status, 502)
})
