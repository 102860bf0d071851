import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newCustomer, type TestPerson } from '../../support/http/app.ts'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import { ask, customer, type MeteredChatApp, startMeteredChatApp } from '../../support/http/metered-chat-app.ts'
import { createResponse } from '../../support/http/response-requests.ts'
import { turnSocket } from '../../support/http/socket/turns.ts'
import type { UpstreamReply } from '../../support/upstream/chat-upstream.ts'

let service: MeteredChatApp
let background: BackgroundApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp({ models: [CONFIGURED] })
  background = await startBackgroundApp()
  person = await customer(service)
})
after(async () => {
  await background.close()
  await service.close()
})

/** Its configuration sets fields that no client sends. */
const CONFIGURED = { id: 'set-1', max_output_tokens: 4096, default_reasoning_effort: 'high' }

const PROMPT = 'My neighbor Ada keeps a canary in the old lighthouse by the harbor.'
const refused = (status: number, body: unknown): UpstreamReply => ({ kind: 'json', status, body })

type Refusal = {
  reply: UpstreamReply
  status: number
  code: string
  chat: string | null
  responses: string | null
  /** What the client sets. */
  fields?: Record<string, unknown>
  limit?: number
  alarm?: boolean
  model?: string
}

/** What the model server refuses, and the field that each API names to its client. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  'a field': {
    reply: refused(422, { detail: [{ loc: ['body', 'top_k'], msg: 'Extra inputs are not permitted' }] }),
    status: 400,
    code: 'invalid_request_error',
    chat: 'top_k',
    responses: 'top_k',
    fields: { top_k: 5 },
  },
  'a limit': {
    reply: refused(400, { error: { message: 'Extra inputs are too many.', param: 'max_completion_tokens' } }),
    status: 400,
    code: 'invalid_request_error',
    chat: 'max_completion_tokens',
    responses: 'max_output_tokens',
    limit: 100,
  },
  'the limit that the configuration sets': {
    reply: refused(400, { error: { message: 'Extra inputs are too many.', param: 'max_completion_tokens' } }),
    status: 502,
    code: 'upstream_error',
    chat: null,
    responses: null,
    alarm: true,
    model: 'set-1',
  },
  'the effort that the configuration sets': {
    reply: refused(400, { error: { message: 'Extra inputs: reasoning_effort is not supported.' } }),
    status: 502,
    code: 'upstream_error',
    chat: null,
    responses: null,
    alarm: true,
    model: 'set-1',
  },
  'a field that nobody has sent': {
    reply: refused(400, { error: { message: 'Extra inputs are too many.', param: 'top_k' } }),
    status: 400,
    code: 'invalid_request_error',
    chat: null,
    responses: null,
  },
  'a message, which it repeats': {
    reply: refused(400, { error: { message: `Extra inputs: ${PROMPT}`, param: 'messages[0].content' } }),
    status: 400,
    code: 'invalid_request_error',
    chat: 'messages',
    responses: 'input',
  },
  'content, by its filter': {
    reply: refused(400, { error: { message: 'Extra inputs filtered.', code: 'content_filter', param: 'prompt' } }),
    status: 400,
    code: 'content_filter',
    chat: 'messages',
    responses: 'input',
  },
  'too long a prompt': {
    reply: refused(400, { error: 'Extra inputs: prompt too long; exceeded max context length by 808 tokens' }),
    status: 400,
    code: 'context_length_exceeded',
    chat: 'messages',
    responses: 'input',
  },
  'everything, under status 200 on a connection that stays open': {
    reply: {
      kind: 'stream',
      type: 'application/json',
      done: false,
      finally: 'stall',
      frames: [JSON.stringify({ code: 1214, message: 'Extra inputs are overloaded.' })],
    },
    status: 503,
    code: 'server_is_overloaded',
    chat: null,
    responses: null,
  },
  'a model that it does not have': {
    reply: refused(404, { error: { message: 'Extra inputs: the model does not exist.' } }),
    status: 502,
    code: 'upstream_error',
    chat: null,
    responses: null,
    alarm: true,
  },
}

for (const [what, { reply, status, code, chat, responses, fields, limit, alarm = false, model }] of Object.entries(
  REFUSALS,
)) {
  test(`a server that refuses ${what}: each way names it in its own words, and the log has the reason`, async () => {
    const { app, lines } = service
    const socket = await turnSocket(app.url, person)
    const messages = [{ role: 'user', content: PROMPT }]
    const asked = { ...fields, ...(model && { model }), ...(limit !== undefined && { max_completion_tokens: limit }) }
    const created = { ...fields, ...(model && { model }), ...(limit !== undefined && { max_output_tokens: limit }) }
    const ways: Array<[param: string | null, request: () => Promise<{ status: number; error: unknown }>]> = [
      ...[false, true].map((stream): (typeof ways)[number] => [
        chat,
        async () => errorOf(await ask(app, person, { ...asked, messages, stream })),
      ]),
      ...[false, true].map((stream): (typeof ways)[number] => [
        responses,
        async () => errorOf(await createResponse(app, person, { ...created, input: PROMPT, stream })),
      ]),
      [
        responses,
        async () =>
          (await socket.turn({ ...created, input: PROMPT })).last as unknown as { status: number; error: unknown },
      ],
    ]
    for (const [param, request] of ways) {
      const before = lines.length
      // It refuses it again in the other form in which it is asked.
      service.upstream.always(reply)
      const answer = await request()
      service.upstream.always(null)
      const error = answer.error as { code: string; param: string | null }
      assert.deepEqual([answer.status, error.code, error.param], [status, code, param])
      const logged = lines.slice(before).filter((line) => line.includes('chat_engine_failed'))
      assert.equal(logged.length, 1)
      assert.match(logged[0]!, /Extra in/)
      assert.equal(
        lines.slice(before).some((line) => line.includes('chat_engine_needs_operator')),
        alarm,
      )
      assert.doesNotMatch(lines.slice(before).join(''), /Ada|lighthouse|harbor/)
    }
    await socket.close()
    // What is overloaded is waited for: test/flow/responses/put-off.test.ts.
    if (model !== undefined || code === 'server_is_overloaded') return
    const asker = await newCustomer(background.app)
    background.upstream.always(reply)
    const { body } = await background.submit({ ...created, input: PROMPT }, asker)
    const ended = await endedOf(body.id, asker)
    background.upstream.always(null)
    assert.deepEqual([ended.status, ended.error.code, ended.error.param], ['failed', code, responses])
  })
}

function errorOf({ status, body }: { status: number; body: { error: unknown } }): { status: number; error: unknown } {
  return { status, error: body.error }
}

/** The response once it has ended. */
async function endedOf(id: string, asker: TestPerson) {
  await background.call('GET', `${id}?stream=true`, asker)
  return (await background.call('GET', id, asker)).body
}
