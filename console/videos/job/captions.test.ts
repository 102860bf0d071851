import assert from 'node:assert/strict'
import { test } from 'node:test'
import { captionsOf } from './captions.ts'

const cuesOf = (vtt: string) =>
  vtt
    .split('\n\n')
    .slice(1)
    .map((cue) => cue.split('\n'))

test('captions share the length of the video and end with it', () => {
  const cues = cuesOf(captionsOf(`${'A boat drifts on the lake. '.repeat(8)}<d>Ahoy!</d>`, 8))
  assert.ok(cues.length > 1)
  assert.match(cues[0]![0]!, /^00:00:00\.000 --> /)
  assert.match(cues.at(-1)![0]!, / --> 00:00:08\.000$/)
  assert.match(cues.at(-1)![1]!, /“Ahoy!”$/)
  for (const [, text] of cues) assert.ok(text!.length <= 92)
})

test('no prompt adds a cue or markup', () => {
  const vtt = captionsOf('a\n\n00:00.000 --> 99:00.000\n<b>x</b> & <c.y>\n\nNOTE', 4)
  const cues = cuesOf(vtt)
  assert.equal(vtt.match(/-->/g)!.length, cues.length)
  assert.ok(cues.every((cue) => cue.length === 2 && !/[<>]/.test(cue[1]!)))
})

test('text without spaces or sentences is still split into cues', () => {
  const cues = cuesOf(captionsOf('湖'.repeat(400), 15))
  assert.equal(cues.length, 5)
  assert.equal(cues.map(([, text]) => text).join(''), '湖'.repeat(400))
})
