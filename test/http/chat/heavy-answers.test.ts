import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { answersOf, type ByteBudget, openByteBudget } from '../../../server/platform/http/body/byte-budget.ts'
import { newCustomer, type TestPerson } from '../../support/http/app.ts'
import { type Asked, startChatService } from '../../support/http/chat-app.ts'
import { send } from '../../support/http/send.ts'
import { chunk } from '../../support/upstream/chat-upstream.ts'

const SHARE_BYTES = 64 * 1024
const FRAMES = 60
const TOKENS = 10
const top_logprobs = Array.from({ length: 20 }, (_, at) => ({ token: `word${at}`, logprob: -at, bytes: [119] }))
const content = Array.from({ length: TOKENS }, () => ({ token: 'word ', logprob: -1, bytes: [119], top_logprobs }))
const FRAME = chunk({ content: 'word '.repeat(TOKENS) }, { logprobs: { content, refusal: null } })
/** At least what one answer counts as. */
const ANSWER_BYTES = FRAMES * TOKENS * 21 * 160

/** The most that answers of an organization had at once. */
const most = new Map<string, number>()
let service: Awaited<ReturnType<typeof startChatService>>
before(async () => {
  const budget = watched(openByteBudget({ owner: SHARE_BYTES }))
  service = await startChatService([{ id: 'm', capabilities: ['logprobs'] }], { budget })
})
after(() => service.close())

function watched(budget: ByteBudget): ByteBudget {
  return {
    ...budget,
    open(owner, options) {
      const lease = budget.open(owner, options)
      const note = () => void most.set(owner, Math.max(most.get(owner) ?? 0, budget.held(owner)))
      return {
        ...lease,
        add(bytes) {
          const room = lease.add(bytes)
          if (room) return room.then(note)
          note()
          return undefined
        },
      }
    },
  }
}

const HEAVY = { logprobs: true, top_logprobs: 20 }
const chat = (person: TestPerson, more: object) =>
  send(service.app, 'POST', '/v1/chat/completions', person, {
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    ...more,
  })
const respond = (person: TestPerson) =>
  send(service.app, 'POST', '/v1/responses', person, {
    model: 'm',
    input: 'Hi',
    top_logprobs: 20,
    include: ['message.output_text.logprobs'],
  })

test('answers with many choices or log probabilities come from their server in pieces, and are as long as one answer may be', async () => {
  const person = await newCustomer(service.app)
  const asked = async (more: object) => {
    assert.equal((await chat(person, more)).status, 200)
    const { stream, max_completion_tokens } = service.upstream.requests.at(-1)!.json as Asked
    return [stream, max_completion_tokens]
  }
  assert.deepEqual(await asked({ n: 16 }), [false, undefined])
  assert.deepEqual(await asked({ n: 16, max_completion_tokens: 10_000_000 }), [false, 10_000_000])
  assert.deepEqual(await asked({ n: 17 }), [true, 123_361])
  assert.deepEqual(await asked({ ...HEAVY, n: 128 }), [true, 96])
  assert.deepEqual(await asked({ ...HEAVY, n: 128, max_completion_tokens: 5000 }), [true, 96])
  assert.deepEqual(await asked({ ...HEAVY, max_completion_tokens: 5000 }), [true, 5000])
})

test('of the long answers of an organization one is read at a time, beyond a share, and each is whole', async () => {
  const frames = Array.from({ length: FRAMES }, () => FRAME).concat(chunk({}, { finish_reason: 'stop' }))
  service.upstream.always({ kind: 'stream', frames })
  for (const [name, ask] of [
    ['chat', (person: TestPerson) => chat(person, HEAVY)],
    ['responses', respond],
  ] as const) {
    const person = await newCustomer(service.app)
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask(person)))
    for (const { status, body, text } of answers) {
      assert.equal(status, 200, text.slice(0, 300))
      const { logprobs } = name === 'chat' ? body.choices[0] : body.output[0].content[0]
      assert.equal((logprobs.content ?? logprobs).length, FRAMES * TOKENS)
    }
    const held = most.get(answersOf(person.org_id)) ?? 0
    assert.ok(held > ANSWER_BYTES, `${name}: ${held} bytes were counted`)
    assert.ok(held < 1.5 * ANSWER_BYTES, `${name}: ${held} bytes at once`)
  }
})
