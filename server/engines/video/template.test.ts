import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillTemplate, placeholdersIn, unknownPlaceholders } from './template.ts'

const VALUES = {
  prompt: 'A cat <d>"世界"</d> {{seed}}',
  seconds: 5,
  seed: 7,
  images: ['a', 'b'],
  none: undefined,
  few: [],
}

test('a text that is one placeholder becomes the value with its type; inside a text it is text', () => {
  assert.deepEqual(
    fillTemplate(
      { a: '{{seconds}}', b: '{{seconds}}s', c: ['{{ images }}', true, 1.5, null], d: '{{prompt}}' },
      VALUES,
    ),
    { a: 5, b: '5s', c: [['a', 'b'], true, 1.5, null], d: VALUES.prompt },
  )
})

test('a value is not searched for placeholders', () => {
  assert.equal(fillTemplate('{{prompt}}!', VALUES), 'A cat <d>"世界"</d> {{seed}}!')
})

test('what stands for nothing is left out, and so is what holds nothing else', () => {
  const template = {
    a: '{{none}}',
    b: { url: '{{none}}' },
    c: ['{{few}}'],
    d: 'x{{none}}',
    e: {},
    f: [],
    g: ['{{seed}}'],
  }
  assert.deepEqual(fillTemplate(template, VALUES), { e: {}, f: [], g: [7] })
  assert.equal(fillTemplate({ a: '{{none}}' }, VALUES), undefined)
})

test('a member of any name stays a member', () => {
  const filled = fillTemplate(JSON.parse('{"__proto__": {"a": "{{seed}}"}}'), VALUES)
  assert.equal(JSON.stringify(filled), '{"__proto__":{"a":7}}')
})

test('placeholders are listed, and unknown ones reported with their path', () => {
  const template = { a: '{{seed}} {{seconds}}', b: [{ c: '{{sed}}' }], d: '{{}}' }
  assert.deepEqual([...placeholdersIn(template)], ['seed', 'seconds', 'sed', ''])
  assert.deepEqual(
    unknownPlaceholders(template, ['seed', 'seconds'], 'input').map(({ path }) => path),
    ['input.b.0.c', 'input.d'],
  )
  assert.match(unknownPlaceholders('{{sed}}', ['seed'], 'input')[0]!.message, /\{\{sed\}\} is not .* \{\{seed\}\}/)
})
