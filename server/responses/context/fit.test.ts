import assert from 'node:assert/strict'
import { test } from 'node:test'
import { effortOf } from '../../../test/support/processor-time.ts'
import { inputSize } from '../../chat/count.ts'
import type { ChatModelConfig } from '../../config/config.ts'
import type { ChatRequest } from '../../engines/chat/contract.ts'
import { sandboxChat } from '../../engines/chat/sandbox/adapter.ts'
import { ApiError } from '../../platform/errors.ts'
import type { ContextItem } from '../schema/items.ts'
import { draftWithoutFiles } from './drafts.ts'
import { type Drafted, type Fitting, fitContext } from './fit.ts'
import { joinDrafts } from './messages.ts'
import { matchOutputs } from './pairing.ts'

const LEFT = new AbortController().signal

/** A conversation with a message of each of these sizes in tokens, alternating from the user on. */
async function conversation(...tokens: number[]): Promise<Drafted> {
  const context = tokens.map((count, i): ContextItem => {
    const head = { id: `msg_${i}`, type: 'message', status: 'completed', role: i % 2 ? 'assistant' : 'user' } as const
    const content = [{ type: 'input_text' as const, text: `${i}${' word'.repeat(count - 1)}` }]
    return { item: { ...head, content }, path: `input[${i}]` }
  })
  return {
    context,
    drafts: await draftWithoutFiles({ secrets: ['s'] }, { org_id: 'org_1', nameOf: ({ name }) => name }, context, LEFT),
  }
}

function build({ context, drafts }: Drafted): ChatRequest {
  const callOfOutput = matchOutputs(context.map(({ item }) => item))
  return { model: 'x', messages: joinDrafts(drafts, { instructions: undefined, callOfOutput }), n: 1, stream: false }
}

const model = (context_length: number | null) => ({ context_length, max_output_tokens: null }) as ChatModelConfig
const auto = { truncation: 'auto', max_output_tokens: 1 } as const
const fit = (fitting: Omit<Fitting, 'build'>, drafted: Drafted) => fitContext({ ...fitting, build }, drafted, LEFT)

test('when the engine counts tokens, as few items are dropped as its count allows', async () => {
  const engine = sandboxChat({ kind: 'sandbox' })
  const whole = await conversation(200, 200, 200, 200, 50)
  const all = await inputSize(engine, build(whole), LEFT).count(10_000)
  for (const [room, kept] of [
    [all, 5],
    [all - 1, 4],
    [all - 250, 3],
    [all - 600, 2],
  ] as const) {
    const { drafted, request, size } = await fit({ engine, model: model(room + 1), body: auto }, whole)
    assert.equal(drafted.context.length, kept)
    assert.equal(await size.count(10_000), await engine.countTokens!(request, LEFT))
    assert.ok((await size.count(10_000)) <= room)
  }
})

test('a request fits in the end when the engine counts very differently from the estimate', async () => {
  for (const factor of [0.02, 0.1, 0.3]) {
    const countTokens = async ({ messages }: ChatRequest) =>
      messages.reduce((sum, { content }, i) => sum + Math.ceil(factor * (content as string).length * (1 + (i % 3))), 0)
    const whole = await conversation(...Array.from({ length: 301 }, () => 20))
    const room = Math.floor((await countTokens(build(whole))) / 3)
    const { drafted, request } = await fit({ engine: { countTokens }, model: model(room + 1), body: auto }, whole)
    assert.ok((await countTokens(request)) <= room)
    assert.ok(drafted.context.length > 30, `${drafted.context.length} of 301 are kept`)
  }
})

test('a request whose upper bound fits is not counted', async () => {
  let counts = 0
  const countTokens = async () => ++counts
  const engine = { countTokens }
  const whole = await conversation(200, 200, 50)
  for (const length of [null, 100_000]) {
    assert.equal((await fit({ engine, model: model(length), body: auto }, whole)).drafted, whole)
  }
  assert.equal(counts, 0)
})

test('without truncation a request that is too long is refused, with the limit and its length', async () => {
  for (const [counted, stated] of [
    [900, '900'],
    [9000, 'more than 500'],
  ] as const) {
    const engine = { countTokens: async () => counted }
    const work = fit({ engine, model: model(500), body: {} }, await conversation(500, 500, 50))
    await assert.rejects(work, (error) => {
      assert.ok(error instanceof ApiError)
      assert.deepEqual([error.code, error.param], ['context_length_exceeded', 'input'])
      const text = `This model's maximum context length is 500 tokens. However, your input resulted in ${stated} tokens.`
      assert.ok(error.message.startsWith(text), error.message)
      return true
    })
  }
})

test('of a context that is far too long no more is counted than fits', async () => {
  const whole = await conversation(...Array.from({ length: 2001 }, () => 2000))
  for (const engine of [{}, sandboxChat({ kind: 'sandbox' })]) {
    let kept = 0
    const fitting = async () => {
      const { drafted } = await fit({ engine, model: model(10_000), body: auto }, whole)
      kept = drafted.context.length
    }
    const { seconds } = await effortOf(fitting, { seconds: 2 })
    assert.ok(seconds < 2, `${seconds} s`)
    assert.equal(kept, 4)
  }
})

test('30 MB are refused without being counted, and as the part that is never dropped', async () => {
  const whole = await conversation(3_000_000, 3_000_000)
  for (const body of [{}, auto]) {
    const refused = () => assert.rejects(fit({ engine: {}, model: model(8192), body }, whole), /more than 8192 tokens/)
    const { seconds } = await effortOf(refused, { seconds: 0.5 })
    assert.ok(seconds < 0.5, `${seconds} s`)
  }
})
