import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../platform/errors.ts'
import type { ContextItem, Item } from '../schema/items.ts'
import { matchOutputs, requirePairs } from './pairing.ts'

const head = { id: 'x', status: 'completed' } as const
const call = (call_id: string): Item => ({ ...head, type: 'function_call', call_id, name: 'look', arguments: '{}' })
const output = (call_id: string): Item => ({ ...head, type: 'function_call_output', call_id, output: 'seen' })
const custom = (call_id: string): Item => ({ ...head, type: 'custom_tool_call', call_id, name: 'sh', input: 'ls' })
const customOutput = (call_id: string): Item => ({ ...head, type: 'custom_tool_call_output', call_id, output: 'a' })
const user: Item = { ...head, type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }

const inInput = (items: readonly Item[]): ContextItem[] => items.map((item, i) => ({ item, path: `input[${i}]` }))

test('paired calls and outputs are accepted: one by one, parallel, out of order, with a message between, with a reused id', () => {
  const contexts = [
    [user],
    [user, call('a'), output('a')],
    [call('a'), call('b'), output('b'), output('a')],
    [call('a'), user, output('a')],
    [call('a'), output('a'), user, call('a'), output('a')],
    [custom('a'), customOutput('a'), call('b'), customOutput('b')],
  ]
  for (const context of contexts) requirePairs(inInput(context))
})

test('tool_call_not_found for an output without a call before it', () => {
  const [code, message, param] = refusalOf(inInput([user, output('call_x'), call('call_x'), output('call_x')]))
  assert.deepEqual(
    [code, message, param],
    ['tool_call_not_found', 'No tool call found for function call output with call_id call_x.', 'input[1].call_id'],
  )
  const other = refusalOf(inInput([customOutput('call_y')]))
  assert.equal(other[1], 'No tool call found for custom tool call output with call_id call_y.')
})

test('tool_output_missing for a call without an output after it', () => {
  const refused = refusalOf(inInput([call('call_a'), output('call_a'), user, call('call_x'), user]))
  assert.deepEqual(refused, ['tool_output_missing', 'No tool output found for function call call_x.', 'input[3]'])
  const again = refusalOf(inInput([call('a'), call('a'), output('a')]))
  assert.equal(again[0], 'tool_output_missing')
  assert.equal(refusalOf(inInput([custom('c')]))[1], 'No tool output found for custom tool call c.')
})

test('an error in the history names previous_response_id', () => {
  const chain = [{ item: call('a'), path: 'previous_response_id' }]
  assert.equal(refusalOf([...chain, ...inInput([user])])[2], 'previous_response_id')
})

test('an output belongs to the first call of its id without one, and any further output to the last call', () => {
  const calls = matchOutputs([call('a'), call('a'), output('a'), output('a'), output('a')])
  assert.deepEqual(
    [...calls],
    [
      [2, 0],
      [3, 1],
      [4, 1],
    ],
  )
})

function refusalOf(context: readonly ContextItem[]): [string, string, string | null] {
  try {
    requirePairs(context)
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    return [error.code, error.message, error.param]
  }
  return assert.fail('not refused')
}
