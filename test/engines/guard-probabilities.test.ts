import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { EngineError } from '../../server/engines/engine-error.ts'
import { chatGuard } from '../../server/engines/moderation/chat-guard.ts'
import { engineMistakes } from '../../server/engines/registry.ts'
import { startEngineServer } from '../support/upstream/engine-server/server.ts'
import { ok } from './reply-faults.ts'

const server = await startEngineServer()
after(() => server.close())

test('a yes-no guard with block_above asks for probabilities and judges by them; an answer without them is no verdict', async () => {
  const engine = chatGuard({
    kind: 'chat-guard',
    base_url: server.url,
    format: 'yes-no',
    model: 'guard-1',
    block_above: 0.3,
  })
  const judged = async (top_logprobs: unknown, content = 'No', finish_reason = 'stop') => {
    const logprobs = top_logprobs === null ? null : { content: [{ token: 'No', logprob: -0.1, top_logprobs }] }
    server.script({ method: 'POST', fault: ok({ choices: [{ finish_reason, message: { content }, logprobs }] }) })
    const { verdict } = await engine.moderate(
      { text: 'a', image: null, purpose: 'video_prompt' },
      new AbortController().signal,
    )
    return verdict
  }
  const share = (yes: number) => [
    { token: 'No', logprob: Math.log(1 - yes) },
    { token: 'Yes', logprob: Math.log(yes) },
  ]
  assert.equal(await judged(share(0.4)), 'block')
  assert.equal(await judged(share(0.2)), 'allow')
  const explained = 'No\n\n**Step by step:** the'
  assert.equal(await judged(share(0.2), explained, 'length'), 'allow', 'ShieldGemma goes on after its word')
  assert.equal(await judged(share(0.4), explained, 'length'), 'block')
  await assert.rejects(judged(share(0.2), 'Maybe'), EngineError)
  await assert.rejects(judged(share(0.2), 'No', 'content_filter'), EngineError)
  const { json } = server.requests.at(-1)! as { json: { logprobs?: boolean; top_logprobs?: number } }
  assert.deepEqual([json.logprobs, json.top_logprobs], [true, 20])
  await assert.rejects(judged(null), EngineError)
  await engine.close?.()
  const entry = {
    kind: 'chat-guard',
    base_url: 'http://guard:8000',
    model: 'm',
    format: 'llama-guard',
    block_above: 0.5,
  }
  assert.deepEqual(
    engineMistakes('moderation', entry).map(({ path }) => path),
    ['block_above'],
  )
})
