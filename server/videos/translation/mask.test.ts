import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { law } from '../../../test/support/law.ts'
import { maskPrompt, placeholders, unmask } from './mask.ts'

const PIECE = fc.oneof(
  fc.constantFrom(
    '<d>',
    '</d>',
    '<D>',
    '「',
    '」',
    '『',
    '』',
    '"',
    '“',
    '”',
    '\n',
    '⟦K0⟧',
    '⟦',
    '⟧',
    '$&',
    '猫が',
    'a cat ',
  ),
  fc.string({ unit: 'binary' }),
)

test('dialogue and quotations are taken out, whole', () => {
  const cases: Array<[prompt: string, text: string, segments: string[]]> = [
    ['猫が<d>こんにちは</d>と言う', '猫が⟦K0⟧と言う', ['<d>こんにちは</d>']],
    ['看板「営業中」の店', '看板⟦K0⟧の店', ['「営業中」']],
    ['「彼は「はい」と言う」猫', '⟦K0⟧猫', ['「彼は「はい」と言う」']],
    ['『本』 と "sign" と “x”', '⟦K0⟧ と ⟦K1⟧ と ⟦K2⟧', ['『本』', '"sign"', '“x”']],
    ['猫</d>犬', '猫⟦K0⟧犬', ['</d>']],
    ['6" <d>"はい"</d> 猫', '6" ⟦K0⟧ 猫', ['<d>"はい"</d>']],
  ]
  for (const [prompt, text, segments] of cases) assert.deepEqual(maskPrompt(prompt), { text, segments })
})

law('unmasking what was masked gives the prompt back, and every placeholder stands once', (seed) => {
  fc.assert(
    fc.property(fc.array(PIECE), (pieces) => {
      const prompt = pieces.join('')
      const { text, segments } = maskPrompt(prompt)
      assert.equal(unmask(text, segments), prompt)
      assert.deepEqual(placeholders(text), [...segments.keys()])
    }),
    { seed, numRuns: 2000 },
  )
})

law('nothing of a dialogue is left in the masked text', (seed) => {
  fc.assert(
    fc.property(fc.array(PIECE), fc.string({ unit: 'grapheme-ascii' }), (pieces, said) => {
      const secret = `SECRET${said.replace(/[<>]/g, '')}`
      const { text } = maskPrompt(`${pieces.join('').replace(/<d>/gi, '')}<d>${secret}</d>猫`)
      assert.ok(!text.includes(secret))
    }),
    { seed, numRuns: 1000 },
  )
})
