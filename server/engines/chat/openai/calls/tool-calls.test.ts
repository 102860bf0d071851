import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '../../contract.ts'
import { toolCalls } from './tool-calls.ts'

test('pieces that interleave and come out of order reach their calls, numbered as they were named', () => {
  const emitted = read([
    [{ index: 1, id: 'b', function: { name: 'second', arguments: '' } }],
    [
      { index: 0, id: 'a', function: { name: 'first', arguments: '{' } },
      { index: 1, function: { arguments: '{"x"' } },
    ],
    [{ index: 1, function: { arguments: ':1}' } }],
    [{ index: 0, function: { arguments: '}' } }],
  ])
  assert.deepEqual(callsOf(emitted), [
    { id: 'b', name: 'second', arguments: '{"x":1}' },
    { id: 'a', name: 'first', arguments: '{}' },
  ])
})

test('arguments that come before the name wait for it', () => {
  const calls = toolCalls(0, TOOLS)
  const events: ChatEvent[] = []
  calls.read([{ index: 0, function: { arguments: '{"a"' } }], events)
  assert.deepEqual([events.length, calls.broken(), calls.count()], [0, true, 0])
  calls.read([{ index: 0, id: 'a', function: { name: 'f', arguments: ':1}' } }], events)
  assert.deepEqual([calls.broken(), callsOf(events)], [false, [{ id: 'a', name: 'f', arguments: '{"a":1}' }]])
})

test('complete arguments that come before the name are kept, as is what comes with it', () => {
  for (const [before, piece] of [
    ['{"a":1}', ''],
    ['{"a"', ':1}'],
    [' ', '{"a":1}'],
  ] as const) {
    const emitted = read([
      [{ index: 0, function: { arguments: before } }],
      [{ index: 0, id: 'a', function: { name: 'f', arguments: piece } }],
      [{ index: 0, function: { arguments: '\n' } }],
    ])
    assert.deepEqual(callsOf(emitted), [{ id: 'a', name: 'f', arguments: `${before}${piece}\n` }])
  }
})

test('a missing, empty, repeated or endless id is replaced by one of ours', () => {
  for (const id of [undefined, '', null, 7, 'x'.repeat(16_385)]) {
    const [call] = callsOf(read([[{ index: 0, id, function: { name: 'f', arguments: '{}' } }]]))
    assert.match(call!.id, /^call_[0-9a-f]{24}$/)
  }
  // https://github.com/BerriAI/litellm/pull/16895
  const id = `call_0a__thought__${'QUJD'.repeat(1000)}`
  assert.equal(callsOf(read([[{ index: 0, id, function: { name: 'f', arguments: '{}' } }]]))[0]!.id, id)
  const twice = callsOf(
    read([
      [
        { index: 0, id: 'a', function: { name: 'f' } },
        { index: 1, id: 'a', function: { name: 'g' } },
      ],
    ]),
  )
  assert.equal(twice[0]!.id, 'a')
  assert.match(twice[1]!.id, /^call_/)
})

test('without an index: whole calls are separate, pieces belong to the call of their id or the last one', () => {
  const ollama = [{ function: { name: 'f', arguments: { x: 1 } } }, { function: { name: 'f', arguments: '{}' } }]
  assert.deepEqual(
    callsOf(read([ollama])).map(({ arguments: text }) => text),
    ['{"x":1}', '{}'],
  )
  const pieces = read([
    [{ id: 'a', function: { name: 'f' } }],
    [{ function: { arguments: '1' } }],
    [{ id: 'a', function: { arguments: '2' } }],
  ])
  assert.deepEqual(callsOf(pieces), [{ id: 'a', name: 'f', arguments: '12' }])
})

test('calls that share an index are emitted separately, by name and id; a new id alone does not start a new call', () => {
  const gemini = [
    [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }],
    [{ index: 0, id: 'b', function: { name: 'f', arguments: '{}' } }],
  ]
  assert.equal(callsOf(read(gemini)).length, 2)
  const vllm = [
    [{ index: 0, id: 'a', function: { name: 'f' } }],
    [{ index: 0, id: 'z', function: { arguments: '{}' } }],
  ]
  assert.deepEqual(callsOf(read(vllm)), [{ id: 'a', name: 'f', arguments: '{}' }])
  const repeated = [
    [{ index: 0, id: 'a', function: { name: 'f' } }],
    [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }],
  ]
  assert.deepEqual(callsOf(read(repeated)), [{ id: 'a', name: 'f', arguments: '{}' }])
})

test('pieces that repeat the name under new ids are one call until its arguments are complete', () => {
  const piece = (id: string, text: string) => [{ index: 0, id, function: { name: 'f', arguments: text } }]
  const pieces = ['', '{"a"', ':1}', ''].map((text, i) => piece(`id${i}`, text))
  assert.deepEqual(callsOf(read(pieces)), [{ id: 'id0', name: 'f', arguments: '{"a":1}' }])
  assert.equal(callsOf(read([piece('a', '{"a":1}'), piece('b', '{"a":1}')])).length, 2)
})

test('a call without arguments ends with an empty object', () => {
  for (const [text, expected] of [
    ['', '{}'],
    [' ', '{}'],
    ['null', '{}'],
    ['{"a":1}', '{"a":1}'],
  ] as const) {
    const calls = toolCalls(0, TOOLS)
    const events: ChatEvent[] = []
    calls.read([{ index: 0, id: 'a', function: { name: 'f', arguments: text } }], events)
    calls.end(events, { run: true })
    assert.equal(callsOf(events)[0]?.arguments, expected)
  }
})

test('extra content comes with its call, also before the name and after the arguments', () => {
  const extra_content = { google: { thought_signature: 's' } }
  const call = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }
  for (const deltas of [
    [[{ ...call, extra_content }]],
    [[{ index: 0, extra_content }], [call]],
    [[call], [{ index: 0, extra_content }]],
  ]) {
    const events = read(deltas)
    const found = events.flatMap((event) => (event.type === 'tool-call-delta' ? (event.extra_content ?? []) : []))
    assert.deepEqual([callsOf(events).length, found], [1, [extra_content]])
  }
})

test('a list of every call so far adds what is new of each, by its id, or by its place when the call is the same', () => {
  const call = (id: string, at: number, more = {}) => ({
    id,
    function: { name: 'f', arguments: `{"at":${at}}` },
    ...more,
  })
  const extra_content = { google: { thought_signature: 's' } }
  const listed = (known: object[], whole: object[]) => {
    const calls = toolCalls(0, TOOLS)
    const events: ChatEvent[] = []
    calls.read(known, events)
    calls.readWhole(whole, events)
    calls.readWhole(whole, events)
    const extras = events.flatMap((event) => (event.type === 'tool-call-delta' ? (event.extra_content ?? []) : []))
    return [callsOf(events).map(({ id, arguments: text }) => `${id} ${text}`), extras.length]
  }
  assert.deepEqual(listed([call('a', 1)], [call('a', 1, { extra_content })]), [['a {"at":1}'], 1])
  assert.deepEqual(listed([call('a', 1, { extra_content })], [call('a', 1, { extra_content })]), [['a {"at":1}'], 1])
  assert.deepEqual(listed([call('a', 1)], [call('b', 2)]), [['a {"at":1}', 'b {"at":2}'], 0])
  assert.deepEqual(listed([call('a', 1)], [call('b', 1), call('a', 1)]), [['a {"at":1}', 'b {"at":1}'], 0])
  assert.deepEqual(listed([call('a', 1)], [call('z', 1)]), [['a {"at":1}'], 0], 'a server that makes a new id')
  assert.deepEqual(listed([call('a', 1)], [call('', 1)]), [['a {"at":1}'], 0])
  const [[, second]] = listed([call('f', 1)], [call('f', 1), call('f', 2)]) as [string[], number]
  assert.match(second!, /^call_\w+ {"at":2}$/, 'one id for all')
})

test('many calls are read in time that grows with their number alone', () => {
  const calls = toolCalls(0, TOOLS)
  const deltas = Array.from({ length: 20_000 }, (_, index) => ({
    index,
    id: `c${index}`,
    function: { name: 'f', arguments: '{}' },
  }))
  const { user } = process.cpuUsage()
  for (const delta of deltas) calls.read([delta], [])
  assert.equal(calls.count(), deltas.length)
  assert.ok(process.cpuUsage().user - user < 2e6)
})

test('arguments in many pieces with the name are read in time that grows with their length alone', () => {
  const calls = toolCalls(0, TOOLS)
  const { user } = process.cpuUsage()
  for (const piece of ['{"a":[', ...Array.from({ length: 200_000 }, () => '{"b":1},'), '1]}'])
    calls.read([{ index: 0, id: '', function: { name: 'f', arguments: piece } }], [])
  assert.equal(calls.count(), 1)
  assert.ok(process.cpuUsage().user - user < 2e6)
})

test('many objects in one piece are read in time that grows with its length alone', () => {
  const calls = toolCalls(0, TOOLS)
  const { user } = process.cpuUsage()
  const objects = Array.from({ length: 20_000 }, (_, at) => `{"a":${at >> 1}}`)
  calls.read([{ index: 0, id: 'a', function: { name: 'f', arguments: objects.join('') } }], [])
  assert.equal(calls.count(), 10_000)
  assert.ok(process.cpuUsage().user - user < 2e6)
})

test('pieces that take turns under one index reach the calls of their ids', () => {
  const emitted = read([
    [{ index: 0, id: 'a', function: { name: 'f', arguments: '' } }],
    [{ index: 0, id: 'b', function: { name: 'g', arguments: '' } }],
    [{ index: 0, id: 'a', function: { arguments: '{"a":1}' } }],
    [{ index: 0, id: 'b', function: { arguments: '{"b":1}' } }],
  ])
  assert.deepEqual(callsOf(emitted), [
    { id: 'a', name: 'f', arguments: '{"a":1}' },
    { id: 'b', name: 'g', arguments: '{"b":1}' },
  ])
})

test('a call that never gets a name is broken if it has arguments, and none if it is empty', () => {
  for (const [text, expected] of [
    ['', false],
    [' ', false],
    ['{}', true],
  ] as const) {
    const calls = toolCalls(0, TOOLS)
    calls.read([{ index: 0, id: 'q', function: { name: '', arguments: text } }], [])
    assert.deepEqual([calls.broken(), calls.count()], [expected, 0])
  }
})

test('a name in pieces is joined when that makes the name of a tool', () => {
  const piece = (name: string, text = '') => [{ index: 0, function: { name, arguments: text } }]
  const joined = ['edit_existing_file {"a":1}']
  const read1 = (...deltas: object[][]) => callsOf(read(deltas)).map(({ name, arguments: text }) => `${name} ${text}`)
  assert.deepEqual(
    read1(piece('edit_ex'), piece('isting_file'), [{ index: 0, function: { arguments: '{"a":1}' } }]),
    joined,
  )
  assert.deepEqual(read1(piece('edit'), piece('_existing'), piece('_file', '{"a":1}')), joined)
  assert.deepEqual(read1(piece('edit'), piece('edit', '{"a":1}')), ['edit {"a":1}'])
  assert.deepEqual(read1(piece('edit'), piece('f', '{"a":1}')), ['edit {}', 'f {"a":1}'])
  assert.deepEqual(read1(piece('edit_ex')), ['edit_ex {}'])
})

test('calls that are the same are several when they come in one delta, or under ids of their own', () => {
  const call = { function: { name: 'f', arguments: '{"a":1}' } }
  assert.equal(callsOf(read([[call, call]])).length, 2)
  const [a, b] = [
    { ...call, index: 0, id: 'a' },
    { ...call, index: 1, id: 'b' },
  ]
  assert.equal(callsOf(read([[a], [b]])).length, 2)
  assert.equal(callsOf(read([[a, { ...b, id: 'a' }]])).length, 1)
})

test('arguments that end early are emitted as they came', () => {
  for (const [text, expected] of [
    ['{', '{'],
    ['{}', '{}'],
    ['{"a":1}{"a"', '{"a":1}'],
    ['{"a":1}, or so', '{"a":1}, or so'],
  ] as const) {
    const calls = toolCalls(0, TOOLS)
    const events: ChatEvent[] = []
    calls.read([{ index: 0, id: 'a', function: { name: 'f', arguments: text } }], events)
    calls.end(events, { run: false })
    assert.deepEqual(callsOf(events), [{ id: 'a', name: 'f', arguments: expected }])
  }
})

test('what is not a call emits nothing', () => {
  assert.deepEqual(read([null, 'x', [], [null, 7, {}, { index: 0 }, { index: 0, function: {} }]]), [])
})

const TOOLS = new Set(['f', 'edit_existing_file', 'edit'])

function read(deltas: readonly unknown[]): ChatEvent[] {
  const calls = toolCalls(0, TOOLS)
  const events: ChatEvent[] = []
  for (const delta of deltas) calls.read(delta, events)
  calls.end(events, { run: true })
  return events
}

/** The calls as a consumer puts them together. */
function callsOf(events: readonly ChatEvent[]): Array<{ id: string; name: string; arguments: string }> {
  const calls: Array<{ id: string; name: string; arguments: string }> = []
  for (const event of events) {
    assert.ok(event.type === 'tool-call-delta')
    const { call, id, name, arguments: text } = event
    if (calls[call] === undefined) calls[call] = { id: id!, name: name!, arguments: text }
    else calls[call].arguments += text
  }
  return calls
}
