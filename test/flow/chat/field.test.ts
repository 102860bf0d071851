import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { ResponseObject } from '../../../server/responses/schema/response.ts'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import { ask, chargesReaching, eventsOf } from '../../support/http/metered-chat-app.ts'
import { createResponse, readEvents } from '../../support/http/response-requests.ts'
import { type TurnSocket, turnSocket } from '../../support/http/socket/turns.ts'
import { FIELD_REPLIES } from '../../support/upstream/field-replies/all.ts'
import { BILLED, type FieldReply } from '../../support/upstream/field-replies/frames.ts'

let service: BackgroundApp
let socket: TurnSocket
before(async () => {
  service = await startBackgroundApp()
  socket = await turnSocket(service.app.url, service.person)
})
after(async () => {
  await socket.close()
  await service.close()
})

/** What a client has of an answer. `ended`: as chat says it; null when it failed. */
type Outcome = { text: string; calls: object[]; ended: string | null }

/** Every way to an answer of the same engine. */
const BACKGROUND = 'a response in the background'
const WAYS: Readonly<Record<string, () => Promise<Outcome>>> = {
  async 'a plain completion'() {
    const { status, body } = await ask(service.app, service.person, { model: 'm' })
    if (status !== 200) return FAILED
    const [{ message, finish_reason }] = body.choices
    return { text: message.content ?? '', calls: (message.tool_calls ?? []).map(callOf), ended: finish_reason }
  },
  async 'a streamed completion'() {
    const { status, text } = await ask(service.app, service.person, { model: 'm', stream: true })
    return status === 200 ? outcomeOfChunks(eventsOf(text)) : FAILED
  },
  async 'a plain response'() {
    const { status, body } = await createResponse(service.app, service.person, { model: 'm' })
    return status === 200 ? outcomeOf(body) : FAILED
  },
  async 'a streamed response'() {
    const { status, text } = await createResponse(service.app, service.person, { model: 'm', stream: true })
    return status === 200 ? outcomeOf(readEvents(text).at(-1)!.response) : FAILED
  },
  async [BACKGROUND]() {
    const { body } = await service.submit()
    return outcomeOf(await service.ended(body.id))
  },
  async 'a response over WebSocket'() {
    const { response } = await socket.turn({ model: 'm' })
    return response === undefined ? FAILED : outcomeOf(response as unknown as ResponseObject)
  },
}

const FAILED: Outcome = { text: '', calls: [], ended: null }

/** One or two of each kind; `test/engines/chat/field.test.ts` reads them all. */
const CHOSEN = [
  ...[
    'an empty reason on every chunk',
    'stop and then a call',
    'stop and then length',
    'a second call after tool_calls',
  ],
  ...['the reason max_tokens', 'the reason SAFETY', 'the reason abort', 'text, usage and [DONE] without a reason'],
  ...['zeros beside a page of text', 'a good usage and then zeros', 'usage in x_groq'],
  ...['reasoning billed beside the completion, in the total alone', 'the whole message as the last event'],
  ...['one line break between events', 'a call without arguments', 'a signature with a call', 'events in gzip'],
  ...['a completion under text/plain', 'an error under text/event-stream'],
  ...['a reason and usage on a connection that stays open', 'the reason function_call_filter: MALFORMED_FUNCTION_CALL'],
  ...['a call, and an entry that is empty', 'two calls in one delta under one index and empty ids'],
  ...['two calls of one name in JSON under one id and no index', 'pretty JSON before [DONE]'],
  ...['lines of JSON on a connection that stays open', 'JSON for each chunk without line breaks'],
  ...['one line break after each event on a connection that stays open', 'usage after [DONE] in the same read'],
  ...['tokens of the template behind the name of a call', 'two calls whose indexes are texts'],
  ...['a reason that is an object'],
]

let charged = 0
for (const name of CHOSEN) {
  for (const [way, request] of Object.entries(WAYS))
    test(`${way}: ${name}`, () => check(FIELD_REPLIES[name]!, request, { waits: request === WAYS[BACKGROUND] }))
}

/** `waits`: it is answered by a later run, of a server that is no longer overloaded. */
async function check(row: FieldReply, request: () => Promise<Outcome>, { waits }: { waits: boolean }): Promise<void> {
  service.upstream.reply(row.reply)
  const outcome = await request()
  charged += 1
  const charge = (await chargesReaching(service.app, service.person, charged)).at(-1)!
  if (row.fails !== undefined) return assert.equal(outcome.ended, waits && row.fails === 'overloaded' ? 'stop' : null)
  const { text = '', calls = [], finish, usage = BILLED } = row
  const extra = row.extra_content === undefined ? {} : { extra_content: row.extra_content }
  assert.deepEqual(outcome, {
    text,
    calls: calls.map(([name, args]) => ({ name, arguments: args, ...extra })),
    ended: finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
  })
  const { input_tokens, output_tokens, cached_input_tokens } = charge
  if (usage === null)
    return assert.ok(input_tokens! > 0 && output_tokens! > 300, `${input_tokens} and ${output_tokens}`)
  assert.deepEqual([input_tokens, output_tokens, cached_input_tokens], [usage.input, usage.output, usage.cached ?? 0])
}

type Call = { function: { name: string; arguments: string }; extra_content?: object }
const callOf = ({ function: called, extra_content }: Call) => ({ ...called, ...(extra_content && { extra_content }) })

// biome-ignore lint/suspicious/noExplicitAny: chunks have many shapes.
function outcomeOfChunks(events: any[]): Outcome {
  const outcome: Outcome = { text: '', calls: [], ended: null }
  const calls: Call[] = []
  for (const { choices } of events) {
    for (const { delta, finish_reason } of choices ?? []) {
      outcome.text += delta.content ?? ''
      outcome.ended = finish_reason ?? outcome.ended
      for (const { index, function: called, extra_content } of delta.tool_calls ?? []) {
        calls[index] ??= { function: { name: called.name, arguments: '' } }
        calls[index].function.arguments += called.arguments
        if (extra_content) calls[index].extra_content = extra_content
      }
    }
  }
  return { ...outcome, calls: calls.map(callOf) }
}

function outcomeOf({ status, output, incomplete_details }: ResponseObject): Outcome {
  const calls = output.filter((item) => item.type === 'function_call')
  const texts = output.flatMap((item) => (item.type === 'message' ? item.content : []))
  const text = texts.map((part) => (part.type === 'output_text' ? part.text : '')).join('')
  const whole = calls.length > 0 ? 'tool_calls' : 'stop'
  const cut = incomplete_details?.reason === 'max_output_tokens' ? 'length' : 'content_filter'
  return {
    text,
    calls: calls.map(({ name, arguments: args, extra_content }) =>
      callOf({ function: { name, arguments: args }, ...(extra_content && { extra_content }) }),
    ),
    ended: status === 'completed' ? whole : status === 'incomplete' ? cut : null,
  }
}
