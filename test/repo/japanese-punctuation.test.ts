import assert from 'node:assert/strict'
import { test } from 'node:test'
import ja from '../../console/text/ja.ts'

/** Values, marks of dialogue and links: what stands for something else. */
const MARKS = /\{\{[^}]*\}\}|<\/?[a-z]+>/g
/** Code as it is typed. */
const QUOTED_CODE = /“[^”]*”|"[^"]*"(: "[^"]*")?/g
/** Part of a number, a ratio or a name, such as `16:9` or `kinora.yaml`. */
const INSIDE_A_WORD = /(?<=[\w/])[.,:](?=[\w/])/g

/** Half-width punctuation that the sentence itself is written with; a text without a Japanese letter has no sentence. */
function halfWidth(text: string): string[] {
  if (!/[ぁ-ゟァ-ヿ一-鿿]/.test(text)) return []
  return (
    text
      .replaceAll(MARKS, '')
      .replaceAll(QUOTED_CODE, '')
      .replaceAll(INSIDE_A_WORD, '')
      .match(/[,.:;!?()｡､]/g) ?? []
  )
}

test('Japanese sentences are punctuated in full width', () => {
  const wrong: string[] = []
  const visit = (value: object, path: string) => {
    for (const [name, inner] of Object.entries(value)) {
      const own = path === '' ? name : `${path}.${name}`
      if (typeof inner !== 'string') visit(inner as object, own)
      // English on purpose, where prompts cannot be translated.
      else if (name !== 'prompt_in_english' && halfWidth(inner).length > 0) wrong.push(`${own}: ${inner}`)
    }
  }
  visit(ja, '')
  assert.deepEqual(wrong, [])
})

test('the check sees half-width marks in a sentence, and none in English, numbers, ratios and names of files', () => {
  assert.deepEqual(halfWidth('削除しますか?'), ['?'])
  assert.deepEqual(halfWidth('設定 (既定値): {{name}}'), ['(', ')', ':'])
  assert.deepEqual(halfWidth('保存､終了.'), ['､', '.'])
  for (const good of [
    'Really? (Yes.)',
    '16:9 横長',
    '1,000 件、0.5 倍',
    'kinora.yaml を開く（任意）',
    '{{a:b}} 件',
    '"a": "b" と書く',
  ])
    assert.deepEqual(halfWidth(good), [])
})
