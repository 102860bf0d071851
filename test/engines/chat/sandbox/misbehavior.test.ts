import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sandboxChat } from '../../../../server/engines/chat/sandbox/adapter.ts'
import { EngineError } from '../../../../server/engines/engine-error.ts'
import { ask, reasonOf, requestOf, textOf } from './ask.ts'

const engine = sandboxChat({ kind: 'sandbox' })
const QUESTION = 'What is the weather in Paris?'

test('words in the prompt make the sandbox misbehave', async () => {
  const refused = await ask(engine, 'sandbox:refuse')
  assert.ok(refused.events.some((event) => event.type === 'refusal-delta') && textOf(refused) === '')
  assert.equal(reasonOf(refused), 'stop')
  assert.equal(reasonOf(await ask(engine, 'please sandbox:filter this')), 'content_filter')
  assert.equal(textOf(await ask(engine, 'sandbox:empty')), '')
  const long = await ask(engine, 'sandbox:long')
  assert.ok(long.usage.output >= 2000 && long.usage.output < 2200)
  await assert.rejects(ask(engine, 'sandbox:overloaded'), { kind: 'overloaded', retry_after_seconds: 1 })
  await assert.rejects(ask(engine, 'sandbox:too_long'), { kind: 'context_length' })
  assert.equal(reasonOf(await ask(engine, 'my-sandbox:refused sandbox:unknown')), 'stop')
})

test('sandbox:error breaks off after some tokens, without an end', async () => {
  for (const stream of [true, false]) {
    const events: string[] = []
    const answer = await engine.generate(requestOf('sandbox:error', { stream }), live())
    await assert.rejects(
      async () => {
        for await (const batch of answer) events.push(...batch.map((event) => event.type))
      },
      (error) => error instanceof EngineError && error.kind === 'failed',
    )
    assert.deepEqual(events, Array(8).fill('text-delta'))
  }
})

test('an abort ends the answer at once, also while it is paced', async () => {
  await assert.rejects(ask(engine, QUESTION, {}, AbortSignal.abort(new Error('gone'))), /gone/)
  for (const delay_ms_per_token of [0, 10_000]) {
    const leaving = new AbortController()
    const slow = sandboxChat({ kind: 'sandbox', delay_ms_per_token })
    const answer = await slow.generate(requestOf('sandbox:long'), leaving.signal)
    const seen = async () => {
      for await (const _ of answer) leaving.abort()
    }
    await assert.rejects(seen, { name: 'AbortError' })
  }
})

function live(): AbortSignal {
  return new AbortController().signal
}
