import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { engineMistakes } from '../../../server/engines/registry.ts'
import { type HttpTranslationOptions, httpTranslation } from '../../../server/engines/translation/http.ts'
import { startEngineServer } from '../../support/upstream/engine-server/server.ts'
import { ok } from '../reply-faults.ts'
import { translationEngineContract } from './contract.ts'
import { serverFaults } from './server-faults.ts'

const server = await startEngineServer()
after(() => server.close())

const REPLIES: Record<HttpTranslationOptions['format'], Record<string, object>> = {
  libretranslate: {
    'null translation': { translatedText: null },
    'a number': { translatedText: 5 },
    'no texts': { translatedText: [] },
    'more texts than asked for': { translatedText: ['A cat', 'A dog'] },
    'other elements': { translatedText: 'A <script>cat</script>' },
    'a comment': { translatedText: 'A <!-- cat -->' },
    'the shape of DeepL': { translations: [{ text: 'A cat' }] },
  },
  deepl: {
    'no translations': { translations: [] },
    'null translation': { translations: [null] },
    'no text': { translations: [{ detected_source_language: 'JA' }] },
    'text as a list': { translations: [{ text: ['A cat'] }] },
    'more texts than asked for': { translations: [{ text: 'A cat' }, { text: 'A dog' }] },
    'an object': { translations: { text: 'A cat' } },
    'other elements': { translations: [{ text: 'A <b>cat</b>' }] },
    'the shape of LibreTranslate': { translatedText: 'A cat' },
  },
}

function translator(format: HttpTranslationOptions['format'], more: Partial<HttpTranslationOptions> = {}) {
  const engine = httpTranslation({
    kind: 'http',
    format,
    base_url: server.url,
    api_key: 'key:fx',
    timeout_seconds: 1,
    ...more,
  })
  after(() => engine.close?.())
  return engine
}

for (const format of ['libretranslate', 'deepl'] as const) {
  translationEngineContract(() => ({
    name: format,
    engine: translator(format),
    losing() {
      server.answers.translatedMarkup = (markup) => markup.replace(/<(code|x) [^>]*>[^<]*<\/\1>/, '')
      return '猫が<d>はい</d>と言い、「甲」を見る'
    },
    ...serverFaults(
      server,
      Object.fromEntries(Object.entries(REPLIES[format]).map(([name, body]) => [name, ok(body)])),
    ),
  }))
}

const live = () => new AbortController().signal
const lastJson = () => server.requests.at(-1)!.json as Record<string, unknown>

test('libretranslate: the key goes into the body, the placeholders into elements', async () => {
  await translator('libretranslate').translate({ text: '猫が⟦K0⟧ & 5' }, live())
  const { path, headers } = server.requests.at(-1)!
  assert.equal(path, '/translate')
  assert.equal(headers.authorization, undefined)
  assert.deepEqual(lastJson(), {
    q: '猫が<code translate="no">⟦K0⟧</code> <code translate="no">⟦X26⟧</code> 5',
    source: 'ja',
    target: 'en',
    format: 'html',
    api_key: 'key:fx',
  })
})

test('deepl: the key goes into the header, the placeholders into ignored elements', async () => {
  await translator('deepl', { base_url: `${server.url}/gateway/` }).translate({ text: '猫が⟦K0⟧' }, live())
  const { path, headers } = server.requests.at(-1)!
  assert.equal(path, '/gateway/v2/translate')
  assert.equal(headers.authorization, 'DeepL-Auth-Key key:fx')
  assert.deepEqual(lastJson(), {
    text: ['猫が<x translate="no">⟦K0⟧</x>'],
    source_lang: 'JA',
    target_lang: 'EN-US',
    tag_handling: 'xml',
    ignore_tags: ['x'],
    outline_detection: false,
  })
})

test('after a refused answer only the text between the placeholders goes out, with at most 50 texts in a call', async () => {
  const text = '猫が⟦K0⟧と言う、⟦K1⟧。\n⟦K2⟧ 犬も'
  const { translation } = await translator('deepl').translate({ text, violation: 'a token was lost' }, live())
  assert.deepEqual(lastJson().text, ['猫が', 'と言う、', '犬も'])
  assert.equal(lastJson().tag_handling, undefined)
  assert.equal(translation, 'scene ⟦K0⟧ scene ⟦K1⟧。\n⟦K2⟧ scene')

  const before = server.requests.length
  const many = Array.from({ length: 120 }, (_, i) => `猫が⟦K${i}⟧`).join('')
  await translator('deepl').translate({ text: many, violation: 'a token was lost' }, live())
  const sizes = server.requests.slice(before).map(({ json }) => (json as { text: string[] }).text.length)
  assert.deepEqual(sizes, [50, 50, 20])
})

test('mistakes in the entry are found before it is used', () => {
  const paths = (entry: object) => engineMistakes('translation', { kind: 'http', ...entry }).map(({ path }) => path)
  const libre = { format: 'libretranslate', base_url: 'http://translate:5000' }
  const deepl = { format: 'deepl', base_url: 'https://api-free.deepl.com', api_key: 'k' }
  assert.deepEqual(paths(libre), [])
  assert.deepEqual(paths(deepl), [])
  assert.deepEqual(paths({ ...deepl, api_key: undefined, headers: { Authorization: 'DeepL-Auth-Key k' } }), [])
  assert.deepEqual(paths({ ...deepl, api_key: '' }), ['api_key'])
  for (const base_url of ['https://api.deepl.com/v2', 'https://api.deepl.com/v2/translate'])
    assert.deepEqual(paths({ ...deepl, base_url }), ['base_url'])
  assert.deepEqual(paths({ ...libre, base_url: 'http://translate:5000/translate' }), ['base_url'])
  assert.deepEqual(paths({ ...libre, format: 'google' }), ['format'])
  assert.deepEqual(paths({ ...libre, model: 'm' }), ['model'])
})
