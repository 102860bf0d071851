import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completionReader } from './completion.ts'

test('an object that is no part of an answer ends it only if it says so, or is all that a plain request gets', () => {
  const remark = { type: 'status', message: 'Your place is 3.' }
  const piece = { object: 'chat.completion.chunk', choices: [{ message: { content: 'a' } }] }
  for (const [objects, by, expected, plain] of [
    [[{ code: 7, message: 'Full.' }], 'body', 'refused', 'refused'],
    [[delta({ content: 'a' }), { code: 7 }], 'body', 'refused', 'refused'],
    [[{ code: 7 }, delta({ content: 'a' })], 'body', 'answer', 'answer'],
    [[delta({ content: 'a' }, 'stop'), { code: 7 }], 'body', 'usage', 'usage'],
    ...[
      { code: 0, message: 'success' },
      { code: 200, msg: 'ok' },
      { errcode: '00000' },
      { success: true, errors: [] },
      remark,
    ].map((object) => [[object], 'body', 'answer', 'answer'] as const),
    [[remark], 'json', 'refused', 'refused'],
    [[{ id: 'x' }], 'json', 'answer', 'refused'],
    [[piece], 'json', 'reason', 'nothing'],
  ] as const)
    for (const [isPlain, what] of [
      [false, expected],
      [true, plain],
    ] as const) {
      const reader = completionReader({ choices: 1, logprobs: false, plain: isPlain })
      for (const object of objects) reader.read(object, [])
      assert.equal(reader.missing(by), what, JSON.stringify(objects))
    }
})

function delta(message: object, finish_reason: string | null = null): object {
  return { choices: [{ index: 0, delta: message, finish_reason }] }
}
