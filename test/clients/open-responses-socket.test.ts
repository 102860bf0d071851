import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { acceptStream, type Wire } from '../support/data/response-grammar.ts'
import { send } from '../support/http/send.ts'
import { type ClientsApp, startForClients } from './chat-clients-app.ts'

/**
 * The socket cases of the Open Responses acceptance suite, in our own words, over the WebSocket client that comes with Node.
 * Source: contract 17.
 */
let service: ClientsApp
before(async () => {
  service = await startForClients()
})
after(() => service.close())

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error'])
const model = 'sandbox-1'
const user = (content: string) => [{ type: 'message', role: 'user', content }]

/** A request, or how it is made from the response before it. */
type Step = Wire | ((before: Wire | undefined) => Wire)

/** Sends the requests on one connection, each after the end of the one before, and gives the events of each turn. */
async function session(steps: readonly Step[]): Promise<Wire[][]> {
  const headers = { authorization: `Bearer ${service.person.key}` }
  const socket = new WebSocket(`${service.base_url.replace('http', 'ws')}/responses`, { headers } as never)
  const turns: Wire[][] = []
  const ask = (step: Step): void => {
    const body = typeof step === 'function' ? step(turns.at(-1)?.at(-1)?.response) : step
    turns.push([])
    socket.send(JSON.stringify({ type: 'response.create', model, ...body }))
  }
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => ask(steps[0]!)
    socket.onerror = () => reject(new Error('the connection failed'))
    socket.onclose = ({ code }) => reject(new Error(`the connection closed with ${code}`))
    socket.onmessage = ({ data }) => {
      const event = JSON.parse(String(data)) as Wire
      turns.at(-1)!.push(event)
      if (!TERMINAL.has(event.type)) return
      if (turns.length < steps.length) ask(steps[turns.length]!)
      else resolve()
    }
  })
  socket.onclose = null
  socket.close()
  return turns
}

/** A turn that a client can take from its first event to its last, whose response is complete and has something to say. */
function assertCompleted(events: readonly Wire[]): Wire {
  const response = acceptStream(events, { socket: true })
  assert.equal(response.status, 'completed')
  assert.ok(response.output.length > 0)
  return response
}

function assertNotFound(events: readonly Wire[]): void {
  assert.deepEqual(
    events.map(({ type, status, error }) => ({ type, status, code: error?.code })),
    [{ type: 'error', status: 400, code: 'previous_response_not_found' }],
  )
}

test('websocket-response: a turn is answered by the events of a stream', async () => {
  const [turn] = await session([{ input: user('Count to three.') }])
  assertCompleted(turn!)
})

test('websocket-sequential-responses: two turns on one connection, neither stored', async () => {
  const turns = await session([
    { store: false, input: user('Name a color.') },
    { store: false, input: user('Name a fruit.') },
  ])
  const [one, two] = turns.map(assertCompleted)
  assert.notEqual(one!.id, two!.id)
})

test('websocket-continuation: a turn goes on from one that is not stored, sending only what is new', async () => {
  const turns = await session([
    { store: false, input: user('sandbox:echo My word is kumquat.') },
    (before) => ({ store: false, previous_response_id: before!.id, input: user('Say it again.') }),
  ])
  const [one, two] = turns.map(assertCompleted)
  assert.equal(two!.previous_response_id, one!.id)
  assert.ok(two!.usage.input_tokens > one!.usage.input_tokens, 'the context went along')
})

test('websocket-reconnect-store-false-recovery: a new connection does not know an earlier response, and can start over', async () => {
  const [first] = await session([{ store: false, input: user('Remember this.') }])
  const { id } = assertCompleted(first!)
  const [lost, fresh] = await session([
    { store: false, previous_response_id: id, input: user('Go on.') },
    { store: false, input: [...user('Remember this.'), ...user('Go on.')] },
  ])
  assertNotFound(lost!)
  assertCompleted(fresh!)
})

test('websocket-previous-response-not-found: an id that never existed is not found', async () => {
  const [turn] = await session([{ store: false, previous_response_id: 'resp_never', input: user('Go on.') }])
  assertNotFound(turn!)
})

test('websocket-failed-continuation-evicts-cache: what a failed turn continued from is forgotten', async () => {
  let id = ''
  const [one, two, three] = await session([
    { store: false, input: user('Remember this.') },
    (before) => {
      id = before!.id
      const input = [{ type: 'function_call_output', call_id: 'call_never', output: '{}' }]
      return { store: false, previous_response_id: id, input }
    },
    () => ({ store: false, previous_response_id: id, input: user('Go on.') }),
  ])
  assertCompleted(one!)
  assert.deepEqual([two!.length, two![0]!.type, two![0]!.error.code], [1, 'error', 'tool_call_not_found'])
  assertNotFound(three!)
})

test('websocket-compact-new-chain: a compacted context begins a new chain', async () => {
  const input = [...user('I like tea.'), { type: 'message', role: 'assistant', content: 'Noted.' }]
  const compacted = await send(
    service.app,
    'POST',
    '/v1/responses/compact',
    { key: service.person.key },
    { model, input },
  )
  assert.deepEqual([compacted.status, compacted.body.output.at(-1).type], [200, 'compaction'])
  const [turn] = await session([
    { previous_response_id: null, input: [...compacted.body.output, ...user('What do I like?')] },
  ])
  assertCompleted(turn!)
})
