import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { EngineError } from '../../server/engines/engine-error.ts'
import { chatTranslation } from '../../server/engines/translation/chat.ts'
import type {
  TranslationEngine,
  TranslationInput,
  TranslationResult,
} from '../../server/engines/translation/contract.ts'
import { noTranslation } from '../../server/engines/translation/none.ts'
import { TranslationFailure, translatePrompt } from '../../server/videos/translation/translate.ts'
import { law } from '../support/law.ts'
import { startEngineServer } from '../support/upstream/engine-server/server.ts'

const server = await startEngineServer()
after(() => server.close())

const live = () => new AbortController().signal

/** A translator that answers with each of the given results in turn, and keeps what it was asked. */
function scripted(
  ...results: Array<Partial<TranslationResult> | Error>
): TranslationEngine & { asked: TranslationInput[] } {
  const asked: TranslationInput[] = []
  return {
    available: true,
    asked,
    async translate(input) {
      const result = results[Math.min(asked.push(input), results.length) - 1]!
      if (result instanceof Error) throw result
      return { translation: '', depicted_text: [], ...result }
    },
  }
}

const failure = (reason: string) => (error: unknown) => error instanceof TranslationFailure && error.reason === reason

test('what is not Japanese outside dialogue and quotations is not translated and the engine is not asked', async () => {
  for (const prompt of [
    'A cat says <d>こんにちは</d>',
    'A shop with a sign 「営業中」 at night',
    'A banner reads "いらっしゃいませ" over the door',
    '一只猫在街上走，霓虹灯闪烁，电影感',
    'A cat <d>こんにちは、猫が歩く',
    '',
  ]) {
    const engine = scripted(new Error('asked'))
    assert.deepEqual(await translatePrompt(engine, prompt, live()), { translated: false, engine_prompt: prompt })
    assert.deepEqual(await translatePrompt(noTranslation(), prompt, live()), {
      translated: false,
      engine_prompt: prompt,
    })
  }
})

test('a Japanese prompt keeps its dialogue and its signs byte for byte', async () => {
  const engine = scripted({ translation: 'In front of a shop with the sign ⟦K0⟧ a cat says ⟦K1⟧.' })
  const { translated, engine_prompt } = await translatePrompt(
    engine,
    '看板「営業中」の店の前で猫が<d>こんにちは $& ①</d>と言う',
    live(),
  )
  assert.ok(translated)
  assert.equal(engine_prompt, 'In front of a shop with the sign 「営業中」 a cat says <d>こんにちは $& ①</d>.')
  assert.deepEqual(engine.asked, [{ text: '看板⟦K0⟧の店の前で猫が⟦K1⟧と言う' }])
})

test('without an engine a Japanese prompt fails', async () => {
  await assert.rejects(translatePrompt(noTranslation(), '猫が歩く', live()), failure('no_engine'))
})

test('an unfaithful answer is refused: one retry that names the reason, then failure', async () => {
  const prompt = '猫が<d>はい</d>と言い、看板に営業中とある'
  const cat = 'A cat says ⟦K0⟧'
  const unfaithful: Array<Partial<TranslationResult>> = [
    { translation: 'A cat says something and there is a sign.' },
    { translation: `${cat} and again ⟦K0⟧.` },
    { translation: `${cat} and ⟦K1⟧.` },
    { translation: `${cat} ⟦K 0⟧.` },
    { translation: `${cat} <d>added</d>.` },
    { translation: `${cat} </d>.` },
    { translation: `${cat} と言う.` },
    { translation: `${cat} ﾈｺ.` },
    { translation: `${cat} while walking slowly through the の rain.` },
    { translation: '⟦K0⟧' },
    { translation: '' },
    { translation: 'A⟦K0⟧' },
    { translation: `${cat} ${'and on '.repeat(60)}` },
    { translation: `${cat} by a 「のれん」.`, depicted_text: ['のれん'] },
    { translation: `${cat}.`, depicted_text: ['営業中'] },
    { translation: `${cat}.`, depicted_text: [''] },
    // Neither can be stored.
    { translation: `${cat} half of a \ud83d.` },
    { translation: `${cat} \0.` },
    { translation: prompt.replace('<d>はい</d>', '⟦K0⟧'), depicted_text: ['猫が', 'と言い、看板に営業中とある'] },
  ]
  for (const result of unfaithful) {
    const engine = scripted(result)
    await assert.rejects(translatePrompt(engine, prompt, live()), failure('unfaithful'), JSON.stringify(result))
    assert.equal(engine.asked.length, 2)
    assert.equal(engine.asked[0]!.violation, undefined)
    assert.ok(engine.asked[1]!.violation)
  }
  const corrected = scripted(
    { translation: 'no token' },
    { translation: `${cat} by a sign "営業中".`, depicted_text: ['営業中'] },
  )
  const { engine_prompt } = await translatePrompt(corrected, prompt, live())
  assert.equal(engine_prompt, 'A cat says <d>はい</d> by a sign "営業中".')
})

test('a sign that is shown twice in place of another is unfaithful', async () => {
  const engine = scripted({ translation: 'Signs ⟦K0⟧ and ⟦K0⟧ in a street.' })
  await assert.rejects(translatePrompt(engine, '通りに「甲」と「乙」の看板', live()), failure('unfaithful'))
})

const LONG = '猫が歩く。'.repeat(700)
const WALKS = 'A cat walks. '
const ask = (engine: TranslationEngine, prompt: string, max: number | null) =>
  translatePrompt(engine, prompt, live(), max)

test('a faithful translation may be as long as it is where the model has no limit', async () => {
  for (const prompt of [LONG, LONG.repeat(2)]) {
    const translation = WALKS.repeat(prompt.length / 5)
    const engine = scripted({ translation })
    assert.equal((await ask(engine, prompt, null)).engine_prompt, translation)
    assert.equal(engine.asked.length, 1)
  }
})

test('a translation over the limit of the model is asked for once more, shorter; dialogue counts and stays', async () => {
  const said = `<d>${'は'.repeat(1000)}</d>`
  const engine = scripted({ translation: `${WALKS.repeat(600)}⟦K0⟧` }, { translation: `${'A cat. '.repeat(700)}⟦K0⟧` })
  const { engine_prompt } = await ask(engine, LONG + said, 7000)
  assert.ok(engine_prompt.endsWith(said))
  assert.ok([...engine_prompt].length <= 7000)
  assert.match(engine.asked[1]!.violation!, /shorter: at most 5993 characters .* instead of 7800/)
})

test('what still does not fit fails with both lengths, also when the shorter answer is not faithful', async () => {
  const long = { translation: WALKS.repeat(700) }
  const lengths = { prompt: 3500, english: 9100, max: 7000 }
  for (const [asked, ...answers] of [
    [2, long],
    [3, { translation: 'A cat と' }, long, long],
    [3, long, { translation: 'A cat.' }, { translation: 'Cats.' }],
  ] as const) {
    const engine = scripted(...answers)
    await assert.rejects(ask(engine, LONG, 7000), { name: 'TranslationFailure', reason: 'too_long', lengths })
    assert.equal(engine.asked.length, asked)
  }
  const shortened = scripted(long, { translation: 'A cat.' }, { translation: WALKS.repeat(500) })
  assert.equal((await ask(shortened, LONG, 7000)).translated, true)
})

test('a shorter version is not asked for in vain: of a machine translator, or where dialogue alone is too long', async () => {
  const literal = Object.assign(scripted({ translation: WALKS.repeat(700) }), { literal: true as const })
  await assert.rejects(ask(literal, LONG, 7000), failure('too_long'))
  assert.equal(literal.asked.length, 1)
  const engine = scripted({ translation: 'A cat says ⟦K0⟧' })
  await assert.rejects(ask(engine, `猫が<d>${'は'.repeat(100)}</d>と言う`, 100), failure('too_long'))
  assert.equal(engine.asked.length, 1)
})

test('a fault of the engine is not an answer: it is thrown unchanged, and nothing is asked again', async () => {
  const engine = scripted(new EngineError('transient', 'down'))
  await assert.rejects(translatePrompt(engine, '猫が歩く', live()), { name: 'EngineError', kind: 'transient' })
  assert.equal(engine.asked.length, 1)
})

law(
  'whatever the translator does, dialogue comes back byte for byte and in its order, or the translation fails',
  async (seed) => {
    const said = fc.string({ unit: 'binary' }).map((text) => text.replace(/<\/?d>/gi, ''))
    const scene = fc.constantFrom('猫が', '走る。', '看板「営業中」', ' "x ', 'cat ', '⟦K0⟧', '</d>', '“')
    const prompts = fc.array(fc.tuple(scene, fc.option(said, { freq: 2 })), { minLength: 1, maxLength: 6 })
    const meddling = fc.constantFrom(
      'faithful',
      'faithful',
      'reverse',
      'drop',
      'double',
      'tag',
      'ignore',
      'renumber',
      'close',
    )
    let passed = 0
    await fc.assert(
      fc.asyncProperty(prompts, meddling, fc.boolean(), async (pieces, how, open) => {
        const prompt =
          pieces.map(([text, dialogue]) => text + (dialogue === null ? '' : `<d>${dialogue}</d>`)).join('') +
          (open ? '<d>まだ' : '')
        const engine = {
          available: true,
          translate: async ({ text }: TranslationInput) => ({ translation: meddle(text, how), depicted_text: [] }),
        }
        const result = await translatePrompt(engine, prompt, live()).catch((error: unknown) => error)
        if (result instanceof TranslationFailure) return
        const { engine_prompt, translated } = result as { engine_prompt: string; translated: boolean }
        if (translated) passed += 1
        assert.deepEqual(segmentsOf(engine_prompt), segmentsOf(prompt))
      }),
      { seed, numRuns: 3000 },
    )
    assert.ok(passed > 100, `only ${passed} translations passed`)
  },
)

test('chat: answers in code fences and after thoughts are read, everything else is a fault', async () => {
  const engine = chatTranslation({ kind: 'chat', base_url: server.url, model: 'm', timeout_seconds: 5 })
  const translation = '{"translation":"A cat {walks}","depicted_text":[]}'
  const wrapped = [`\`\`\`json\n${translation}\n\`\`\``, `<think>{hm}</think>\n${translation}`]
  for (const answer of [translation, translation.replace('[]', 'null'), ...wrapped]) {
    server.answers.chat = () => answer
    assert.deepEqual(await engine.translate({ text: '猫が歩く' }, live()), {
      translation: 'A cat {walks}',
      depicted_text: [],
    })
  }
  for (const answer of [
    '',
    'A cat walks',
    '{}',
    '{"translation":1}',
    '{"translation":"x","depicted_text":"y"}',
    '{"translation":"x"',
  ]) {
    server.answers.chat = () => answer
    await assert.rejects(engine.translate({ text: '猫が歩く' }, live()), EngineError, answer)
  }
  await engine.close?.()
})

test('chat: the answer may have as many tokens as the entry says', async () => {
  const limits: unknown[] = []
  for (const more of [{}, { max_tokens: 9000 }]) {
    const engine = chatTranslation({ kind: 'chat', base_url: server.url, model: 'm', ...more })
    server.answers.chat = () => '{"translation":"A cat","depicted_text":[]}'
    await engine.translate({ text: '猫が' }, live())
    limits.push((server.requests.at(-1)!.json as { max_tokens?: number }).max_tokens)
    await engine.close?.()
  }
  assert.deepEqual(limits, [undefined, 9000])
})

test('chat: the masked prompt is the user message, the violation is in the instruction', async () => {
  const engine = chatTranslation({ kind: 'chat', base_url: `${server.url}/v1`, model: 'm', api_key: 'key' })
  server.answers.chat = () => '{"translation":"A cat","depicted_text":[]}'
  await engine.translate({ text: '猫が⟦K0⟧', violation: 'the translation is empty' }, live())
  const { json, path, headers } = server.requests.at(-1)!
  const { messages } = json as { messages: Array<{ role: string; content: string }> }
  assert.equal(path, '/v1/chat/completions')
  assert.equal(headers.authorization, 'Bearer key')
  assert.match(messages[0]!.content, /the translation is empty/)
  assert.deepEqual(messages[1], { role: 'user', content: '猫が⟦K0⟧' })
  await engine.close?.()
})

/** A stand-in translator: Latin letters for Japanese ones, then the given mischief. */
function meddle(text: string, how: string): string {
  const english = text.replace(/[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}。]+/gu, ' scene ')
  const tokens = english.match(/⟦K\d+⟧/g) ?? []
  if (how === 'reverse') return `${tokens.toReversed().join(' ')} scene`
  if (how === 'drop') return english.replace(/⟦K\d+⟧/, '')
  if (how === 'double') return `${english} ${tokens[0] ?? ''}`
  if (how === 'tag') return `<d>${english}</d>`
  if (how === 'close') return `${english}</d>`
  if (how === 'ignore') return 'X'
  return how === 'renumber' ? english.replace('⟦K0⟧', '⟦K00⟧') : english
}

/** Independent of the code under test: dialogue by plain searching, in its order. */
function segmentsOf(prompt: string): string[] {
  const segments: string[] = []
  for (let from = prompt.indexOf('<d>'); from !== -1; from = prompt.indexOf('<d>', from)) {
    const end = prompt.indexOf('</d>', from)
    const to = end === -1 ? from + prompt.slice(from).search(/[\n\r\u2028\u2029]|$/) : end + 4
    segments.push(prompt.slice(from, to))
    from = to
  }
  return segments
}
