import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clipName } from './clip-name.ts'

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
