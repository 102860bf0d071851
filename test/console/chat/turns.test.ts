import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Message,
  NEW_CONVERSATION,
  newAnswer,
  type Turn,
} from '../../../console/chat/conversation/conversation.ts'
import { messagesOn, pathTo, splitHistory, versionsOf, withPath } from '../../../console/chat/conversation/turns.ts'

const turn = (id: string, previous_response_id: string | null, status: Turn['status'] = 'completed'): Turn => ({
  id,
  previous_response_id,
  status,
  cost: null,
  messages: [
    { id: `${id}.0`, role: 'user', text: id, attachments: [] },
    { ...newAnswer('m'), status: 'done', id, response_id: id, text: `to ${id}` },
  ],
})

test('a request continues the last response whose history is as it is shown, and adds the rest', () => {
  const turns = [turn('a', null), turn('b', 'a'), turn('c', 'b', 'cancelled'), turn('d', 'a')]
  const history = (leaf: string, change = (messages: Message[]) => messages) => {
    const { previous_response_id, added } = splitHistory({ turns, leaf, messages: change(messagesOn(turns, leaf)) })
    return [previous_response_id, added.map(({ id }) => id)]
  }
  assert.deepEqual(history('b'), ['b', []])
  assert.deepEqual(
    history('d', (all) => all.slice(0, -1)),
    ['a', ['d.0']],
    'another version of an answer',
  )
  assert.deepEqual(history('c'), ['b', ['c.0', 'c']], 'an answer that was cut off is sent as far as it came')
  const edited = (all: Message[]) => all.map((each) => (each.id === 'a' ? { ...each } : each))
  assert.deepEqual(history('b', edited), [null, ['a.0', 'a', 'b.0', 'b']])
  assert.deepEqual(splitHistory({ turns: turns.slice(1), leaf: 'b', messages: messagesOn(turns.slice(1), 'b') }), {
    previous_response_id: null,
    added: turns[1]!.messages,
  })
})

test('the versions of a turn continue the same response; choosing one shows the newest that follows it', () => {
  const turns = [
    turn('a', null),
    turn('b', 'a'),
    turn('a2', null),
    turn('c', 'b'),
    turn('c2', 'b'),
    turn('lost', 'gone'),
  ]
  const ids = (some: readonly Turn[]) => some.map(({ id }) => id)
  assert.deepEqual(ids(versionsOf(turns, 'c')), ['c', 'c2'])
  assert.deepEqual(ids(versionsOf(turns, 'a')), ['a', 'a2', 'lost'])
  const shown = withPath({ ...NEW_CONVERSATION, turns, leaf: 'a2', unsaved: 'edits' }, 'a')
  assert.deepEqual([shown.leaf, ids(pathTo(turns, shown.leaf)), shown.unsaved], ['c2', ['a', 'b', 'c2'], null])
})
