import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clipName, lastFrameName, readLastFrameName } from './clip-name.ts'

const named = (prompt: string) => clipName({ id: 'video_1', name: null, prompt })

test('a clip that has a name is called so, as far as a file system takes it', () => {
  const called = (name: string) => clipName({ id: 'video_1', name, prompt: 'A boat' })
  assert.equal(called('Opening/shot <2>'), 'Opening shot 2.mp4')
  assert.equal(called('???'), 'A boat.mp4')
})

test('a clip is named after the first words of its prompt, whole words of any language', () => {
  assert.equal(named('A paper boat.'), 'A paper boat.mp4')
  assert.equal(named('夜明けの湖に浮かぶ紙の船。静かな朝。'), '夜明けの湖に浮かぶ紙の船。静かな朝.mp4')
  assert.equal(named(`${'word '.repeat(11)}incomplete`), `${'word '.repeat(11).trim()}.mp4`)
  assert.equal([...named('船'.repeat(100))].length, 64)
})

test('what a file system refuses is left out, and a prompt without anything else gives the id', () => {
  assert.equal(named('<d>Off we go!</d> a/b\\c: "d"\n\te?'), 'Off we go! a b c d e.mp4')
  assert.equal(named('../../etc'), 'etc.mp4')
  assert.equal(named('\u202egpj.exe'), 'gpj.exe.mp4')
  for (const prompt of ['???', ' . ', '\u0007']) assert.equal(named(prompt), 'video_1.mp4')
})

test('the name of a last frame says whose it is, and is read again', () => {
  for (const [name, prompt, title] of [
    ['Opening, take 2', 'A boat', 'Opening, take 2'],
    [null, 'A boat: it sails', 'A boat it sails'],
    [null, '🚤'.repeat(100), '🚤'.repeat(40)],
    [null, '???', ''],
  ] as const) {
    const filename = lastFrameName({ id: 'video_019a', name, prompt })
    assert.ok(Buffer.byteLength(filename) <= 255)
    assert.deepEqual(readLastFrameName(filename), { id: 'video_019a', title })
  }
  assert.deepEqual(readLastFrameName('video_019a-last-frame.png'), { id: 'video_019a', title: '' })
  for (const other of ['a.png', 'last-frame.png', 'xvideo_1-last-frame.png'])
    assert.equal(readLastFrameName(other), null)
})
