import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatMessage, ChatRequest, ChatTool } from '../../../../server/engines/chat/contract.ts'
import { sandboxChat } from '../../../../server/engines/chat/sandbox/adapter.ts'
import { type Answer, ask, reasonOf, textOf } from './ask.ts'

const engine = sandboxChat({ kind: 'sandbox' })
const QUESTION = 'What is the weather in Paris?'

test('a tool is called in the turn of the user, and its result is put into words', async () => {
  const answer = await ask(engine, QUESTION, { tools: TOOLS })
  const [call] = callsIn(answer)
  assert.deepEqual([call!.name, JSON.parse(call!.arguments)], ['get_weather', { location: 'Paris' }])
  assert.equal(reasonOf(answer), 'tool_calls')
  assert.equal(textOf(answer), '')
  const history: ChatMessage[] = [
    { role: 'user', content: QUESTION },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: call!.id!, type: 'function', function: { name: call!.name!, arguments: call!.arguments } }],
    },
    { role: 'tool', tool_call_id: call!.id!, content: '18 °C and sunny' },
  ]
  const last = await ask(engine, history, { tools: TOOLS, tool_choice: 'required' })
  assert.match(textOf(last), /get_weather returned: 18 °C and sunny/)
  assert.equal(reasonOf(last), 'stop')
})

test('tool_choice and parallel_tool_calls decide which tools are called', async () => {
  const both = 'Use search_web and get_time for me'
  const allowed = (name: string) => ({
    type: 'allowed_tools' as const,
    allowed_tools: { mode: 'required' as const, tools: [{ type: 'function' as const, function: { name } }] },
  })
  const cases: Array<[string, Partial<ChatRequest>, string[]]> = [
    [QUESTION, { tool_choice: 'none' }, []],
    [QUESTION, { tool_choice: 'required' }, ['get_weather']],
    [QUESTION, { tool_choice: { type: 'function', function: { name: 'get_time' } } }, ['get_time']],
    [both, {}, ['search_web', 'get_time']],
    [both, { parallel_tool_calls: false }, ['search_web']],
    [both, { tool_choice: allowed('get_time') }, ['get_time']],
    [QUESTION, { tool_choice: allowed('search_web') }, ['search_web']],
  ]
  for (const [input, options, expected] of cases) {
    const calls = callsIn(await ask(engine, input, { tools: TOOLS, ...options }))
    assert.deepEqual(
      calls.map((call) => call.name),
      expected,
    )
    assert.equal(new Set(calls.map((call) => call.id)).size, expected.length)
  }
})

test('max_tokens cuts the arguments of a call short', async () => {
  const full = await ask(engine, QUESTION, { tools: TOOLS })
  const answer = await ask(engine, QUESTION, { tools: TOOLS, max_tokens: full.usage.output - 2 })
  assert.equal(reasonOf(answer), 'length')
  assert.ok(callsIn(full)[0]!.arguments.startsWith(callsIn(answer)[0]!.arguments))
  assert.equal(reasonOf(await ask(engine, QUESTION, { tools: TOOLS, max_tokens: 1 })), 'length')
})

const TOOLS: ChatTool[] = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
    },
  },
  {
    type: 'function',
    function: { name: 'search_web', parameters: { type: 'object', properties: { query: { type: 'string' } } } },
  },
  { type: 'function', function: { name: 'get_time' } },
]

function callsIn({ events }: Answer): Array<{ id: string | undefined; name: string | undefined; arguments: string }> {
  const calls: ReturnType<typeof callsIn> = []
  for (const event of events) {
    if (event.type !== 'tool-call-delta') continue
    const call = calls[event.call]
    if (call === undefined) calls[event.call] = { id: event.id, name: event.name, arguments: event.arguments }
    else {
      assert.ok(event.id === undefined && event.name === undefined)
      call.arguments += event.arguments
    }
  }
  return calls
}
