import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { TranslationEngine } from '../../server/engines/translation/contract.ts'
import { maskPrompt, unmask } from '../../server/videos/translation/mask.ts'
import { PLAIN } from '../../server/videos/translation/prompts/plain.ts'
import { QUOTED } from '../../server/videos/translation/prompts/quoted.ts'
import { translatePrompt } from '../../server/videos/translation/translate.ts'
import { law } from '../support/law.ts'

const ROWS = [...PLAIN.map(([decision, prompt]) => [decision, prompt, prompt] as const), ...QUOTED]

/** What the translator was asked first; null when the prompt went to the engine as it is. */
async function askedFor(prompt: string): Promise<string | null> {
  let asked: string | null = null
  const engine: TranslationEngine = {
    available: true,
    async translate({ text }) {
      asked ??= text
      return { translation: '', depicted_text: [] }
    },
  }
  const result = await translatePrompt(engine, prompt, new AbortController().signal).catch(() => null)
  if (result) assert.deepEqual(result, { translated: false, engine_prompt: prompt })
  return asked
}

test(`${ROWS.length} prompts: each goes to the translator or to the engine as it should, dialogue and quotations taken out`, async () => {
  assert.ok(ROWS.length >= 120)
  assert.equal(new Set(ROWS.map(([, prompt]) => prompt)).size, ROWS.length)
  const wrong: object[] = []
  for (const [decision, prompt, masked] of ROWS) {
    const { text, segments } = maskPrompt(prompt)
    assert.equal(unmask(text, segments), prompt)
    const asked = await askedFor(prompt)
    const expected = { decision, masked }
    const actual = { decision: asked === null ? 'as is' : 'translate', masked: text }
    if (JSON.stringify(actual) !== JSON.stringify(expected)) wrong.push({ prompt, actual, expected })
    else assert.equal(asked ?? text, masked)
  }
  assert.deepEqual(wrong, [])
})

law('text added after a prompt on a line of its own leaves the segments before it as they were', (seed) => {
  const row = fc.constantFrom(...ROWS.filter(([, prompt]) => /\p{Letter}/u.test(maskPrompt(prompt).text)))
  const property = fc.property(
    row,
    fc.constantFrom('A cat walks.', '猫が歩く。', '看板「甲」', '<d>はい</d>'),
    (a, b) => {
      const [, prompt] = a
      if (/[「『〝“](?!.*[」』〟”])/s.test(prompt)) return
      const before = maskPrompt(`A. ${prompt}`).segments
      assert.deepEqual(maskPrompt(`A. ${prompt}\n${b}`).segments.slice(0, before.length), before)
    },
  )
  fc.assert(property, { seed, numRuns: 1000 })
})

test('masking and detection take time in proportion to the prompt, whatever it is made of', async () => {
  const units = [
    '<d>',
    '</d>',
    '<d>\n',
    '「',
    '」',
    '"',
    "'",
    "'a ",
    " 'あ",
    '‘',
    '’',
    '“',
    '⟦',
    '猫',
    'a。',
    '「\n',
    "'\n",
    '「"',
    '々',
  ]
  for (const unit of units) {
    const cost = async (characters: number) => {
      const prompt = unit.repeat(characters / unit.length)
      const before = process.threadCpuUsage()
      await askedFor(prompt)
      return process.threadCpuUsage(before).user
    }
    // A run in which garbage of earlier tests is collected says nothing.
    const least = async (characters: number) =>
      Math.min(await cost(characters), await cost(characters), await cost(characters))
    await cost(7_000)
    const [short, long] = [Math.max(await least(7_000), 2_000), await least(56_000)]
    assert.ok(long < short * 40, `${JSON.stringify(unit)}: ${short} µs, then ${long} µs for eight times as much`)
  }
})

const SCENE = '夜の商店街を黒い猫がゆっくり歩き、看板に営業中とある店の前で止まる。雨が降る。'
const ENGLISH = 'A black cat slowly walks through a shopping street at night and stops at a shop. It rains.'

async function resultOf(translation: string, depicted_text: string[], prompt = SCENE): Promise<string | null> {
  const asked: Array<string | undefined> = []
  const engine: TranslationEngine = {
    available: true,
    async translate({ violation }) {
      asked.push(violation)
      return { translation, depicted_text }
    },
  }
  const result = await translatePrompt(engine, prompt, new AbortController().signal).catch(() => null)
  if (result === null) assert.equal(asked.length, 2, 'one more try')
  return result === null ? asked[1]! : null
}

test('depicted text may stay Japanese: part of a sentence, and at most a third of the whole', async () => {
  assert.equal(await resultOf(`${ENGLISH} The sign reads "営業中".`, ['営業中']), null)
  assert.equal(await resultOf(`${ENGLISH} 商店街, 看板, 営業中.`, ['商店街', '看板', '営業中']), null)
})

/** Prompts that are mostly depicted text, a faithful answer, and the text it lists. */
const CAPTIONS: ReadonlyArray<readonly [prompt: string, answer: string, ...depicted: string[]]> = [
  ['テロップ：本日開店', 'Caption: "本日開店"', '本日開店'],
  ['テロップ：本日開店', 'Caption: 本日開店', '本日開店'],
  ['テロップ: 本日開店、全品半額！', 'Caption: "本日開店、全品半額！"', '本日開店、全品半額！'],
  ['テロップ：本日開店！全品半額！', 'Caption: "本日開店" and "全品半額"', '本日開店', '全品半額'],
  ['字幕：ありがとう。また明日。', 'Subtitle: ありがとう。また明日。', 'ありがとう。また明日。'],
  ['【テロップ】\n本日開店', '[Caption]\n"本日開店"', '本日開店'],
  ['看板の文字：営業中\nロゴ：黒猫商店', 'Sign: “営業中”\nLogo: “黒猫商店”', '営業中', '黒猫商店'],
  ['本日開店の看板', "A sign that reads '本日開店'", '本日開店'],
  ['猫が歩く。\r\nタイトル：夜を歩く猫の物語', 'A cat walks.\nTitle: 「夜を歩く猫の物語」', '夜を歩く猫の物語'],
]

test('a prompt may be mostly depicted text, when the translator lists it and the prompt or the answer marks it', async () => {
  for (const [prompt, answer, ...depicted] of CAPTIONS)
    assert.equal(await resultOf(answer, depicted, prompt), null, `${prompt} as ${answer}`)
})

test('of a caption nothing is lost or added: its label is translated, and the text is shown as often as the prompt has it', async () => {
  const prompt = 'テロップ：本日開店'
  const refused: Array<[string, string[], RegExp]> = [
    ['テロップ：本日開店', ['本日開店'], /left outside/],
    ['テロップ："本日開店"', ['テロップ：', '本日開店'], /empty/],
    ['"本日開店"', ['本日開店'], /empty/],
    ['Caption: "本日開業"', ['本日開店'], /word for word/],
    [`Caption: ${'"本日開店" '.repeat(3)}`, ['本日開店'], /too much/],
  ]
  for (const [translation, depicted, violation] of refused)
    assert.match((await resultOf(translation, depicted, prompt)) ?? 'accepted', violation, translation)
})

test('untranslated text is not accepted as depicted text: complete, in parts, or repeated', async () => {
  const refused: Array<[string, string[], RegExp]> = [
    [`${ENGLISH} 夜の商店街を黒い猫がゆっくり歩き`, ['夜の商店街を黒い猫がゆっくり歩き'], /too much/],
    [`${ENGLISH} ${'営業中 '.repeat(9)}`, ['営業中'], /too much/],
    [`${ENGLISH} 雨が降る`, ['雨が降る'], /whole sentence/],
    [`${ENGLISH} 雨が / 降る`, ['雨が', '降る'], /whole sentence/],
    [`${ENGLISH} "雨が降る"`, ['雨が降る'], /whole sentence/],
    [`${ENGLISH} 営業中`, [], /left outside/],
    [`${ENGLISH} 開店`, ['開店'], /word for word/],
    [`${ENGLISH} 猫`, ['黒い猫'], /word for word/],
    [ENGLISH, Array.from(SCENE.slice(0, 36), (_, i) => SCENE.slice(i, i + 2)), /at most 32/],
  ]
  for (const [translation, depicted, violation] of refused)
    assert.match((await resultOf(translation, depicted)) ?? 'accepted', violation, translation)
})
