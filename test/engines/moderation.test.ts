import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { EngineError } from '../../server/engines/engine-error.ts'
import { type ChatGuardOptions, chatGuard } from '../../server/engines/moderation/chat-guard.ts'
import type { ModerationEngine } from '../../server/engines/moderation/contract.ts'
import { openaiModerations } from '../../server/engines/moderation/openai-moderations.ts'
import { engineMistakes } from '../../server/engines/registry.ts'
import type { Fault } from '../support/upstream/engine-server/faults.ts'
import { startEngineServer } from '../support/upstream/engine-server/server.ts'
import { ok, REPLY_FAULTS } from './reply-faults.ts'

const server = await startEngineServer()
after(() => server.close())

type Format = ChatGuardOptions['format']

/** What each guard model says when it means "safe", and when it means the opposite. */
const WORDS: Record<Format, { safe: string; unsafe: string }> = {
  'llama-guard': { safe: '\n\nsafe', unsafe: 'unsafe\nS1,S10' },
  qwen3guard: { safe: 'Safety: Safe\nCategories: None', unsafe: 'Safety: Unsafe\nCategories: Violent' },
  'gpt-oss-safeguard': {
    safe: '{"violation":0,"category":null,"rationale":"fine"}',
    unsafe: '{"violation":1,"category":"violence","rationale":"no"}',
  },
  'yes-no': { safe: 'No', unsafe: 'Yes' },
}
const FORMATS = Object.keys(WORDS) as Format[]

const guard = (format: Format, more: Partial<ChatGuardOptions> = {}) =>
  chatGuard({ kind: 'chat-guard', base_url: server.url, format, model: 'guard-1', ...more })
const openai = (more = {}) =>
  openaiModerations({ kind: 'openai-moderations', base_url: server.url, api_key: 'key', ...more })

/** Every engine that asks somebody else, each answering "safe" unless a fault comes between. */
const ENGINES: Array<{ name: string; engine: ModerationEngine; format: Format | null }> = [
  { name: 'openai-moderations', engine: openai({ timeout_seconds: 1 }), format: null },
  ...FORMATS.map((format) => ({ name: format, engine: guard(format, { timeout_seconds: 1 }), format })),
]
after(() => Promise.all(ENGINES.map(({ engine }) => engine.close?.())))

const chat = (choice: object | null): Fault => ok({ choices: [choice] })
const verdictOf = (content: unknown, finish_reason: unknown = 'stop') => chat({ finish_reason, message: { content } })
const result = (fields: object) => ok({ results: [{ flagged: false, categories: { violence: false }, ...fields }] })

const TRANSPORT: Record<string, Fault> = {
  ...REPLY_FAULTS,
  'status 201 with a verdict': {
    kind: 'status',
    status: 201,
    body: { results: [{ flagged: false, categories: { a: false } }] },
  },
}

const MODERATION_REPLIES: Record<string, Fault> = {
  'no results': ok({ results: [] }),
  'two results': ok({
    results: [
      { flagged: false, categories: { a: false } },
      { flagged: false, categories: { a: false } },
    ],
  }),
  'null result': ok({ results: [null] }),
  'flagged missing': result({ flagged: undefined }),
  'flagged as text': result({ flagged: 'false' }),
  'flagged null': result({ flagged: null }),
  'no categories': result({ categories: {} }),
  'categories missing': result({ categories: undefined }),
  'category as text': result({ categories: { violence: 'false' } }),
}

const CHAT_REPLIES: Record<string, Fault> = {
  'no choices': ok({ choices: [] }),
  'null choice': chat(null),
  'no message': chat({ finish_reason: 'stop' }),
  'content null': verdictOf(null),
  'content empty': verdictOf(''),
  'content as parts': verdictOf([{ type: 'text', text: 'safe' }]),
  'cut by length': verdictOf('safe', 'length'),
  'No, cut by length': verdictOf('No', 'length'),
  'no violation, cut by length': verdictOf('{"violation":0}', 'length'),
  'filtered by the server': verdictOf('safe', 'content_filter'),
  'no finish reason': verdictOf('safe', null),
  'unknown verdict': verdictOf('maybe'),
  'both verdicts': verdictOf('safe\nunsafe'),
  'verdict inside a sentence': verdictOf('This is safe.'),
  'verdict quoted from the prompt': verdictOf('The user says: "safe"\nNo violation, Safety: Safe'),
  'both in one word': verdictOf('No and Yes'),
  'safe with a category': verdictOf('Safety: Safe\nCategories: Violent'),
  'violation as text': verdictOf('{"violation":"0"}'),
  'violation missing': verdictOf('{"category":null}'),
  'violation false': verdictOf('{"violation":false}'),
  'JSON behind words': verdictOf('Sure: {"violation":0}'),
}

for (const { name, engine, format } of ENGINES) {
  const faults = { ...TRANSPORT, ...(format === null ? MODERATION_REPLIES : CHAT_REPLIES) }
  test(`${name}: none of ${Object.keys(faults).length} faults is read as allow`, async () => {
    assert.ok(Object.keys(faults).length >= 30)
    for (const [fault, script] of Object.entries(faults)) {
      speak(format, 'safe')
      server.script({ method: 'POST', fault: script })
      const judged = await engine.moderate(input('a cat'), live()).catch((error: unknown) => error)
      assert.ok(judged instanceof EngineError, `${fault} gave ${JSON.stringify(judged)}`)
      server.release()
    }
    assert.equal((await engine.moderate(input('a cat'), live())).verdict, 'allow')
  })

  test(`${name}: allows and blocks by the engine's own word, also when it arrives byte by byte`, async () => {
    for (const word of ['safe', 'unsafe'] as const) {
      speak(format, word)
      server.script({ method: 'POST', fault: { kind: 'drip' } })
      const judged = await engine.moderate(input('猫 <d>こんにちは</d>'), live())
      assert.equal(judged.verdict, word === 'safe' ? 'allow' : 'block')
      assert.equal(judged.categories.length > 0, word === 'unsafe')
      assert.ok(judged.engine && judged.version)
    }
  })

  test(`${name}: the text goes out as it is, with the picture where it is seen`, async () => {
    speak(format, 'safe')
    const before = server.requests.length
    await engine.moderate({ ...input('猫 <d>“é”</d>'), image: picture(1) }, live())
    const bodies = server.requests.slice(before).map(({ body }) => body.toString())
    assert.equal(bodies.length, 1)
    assert.ok(bodies[0]!.includes('猫 <d>“é”</d>'))
    assert.equal(bodies[0]!.includes(base64(1)), engine.sees_images)
  })
}

test('a blocked picture blocks, an unjudged one throws', async () => {
  const engine = openai()
  const asked = { ...input('a cat'), image: picture(1) }
  server.answers.moderation = ({ input: sent }) => verdict(JSON.stringify(sent).includes(base64(1)))
  assert.equal((await engine.moderate(asked, live())).verdict, 'block')
  server.answers.moderation = () => verdict(false)
  server.script({ method: 'POST', fault: { kind: 'status', status: 500 } })
  await assert.rejects(engine.moderate(asked, live()), EngineError)
  await engine.close?.()
})

test('openai-moderations rejects a verdict of an engine that ignored the picture', async () => {
  const engine = openai()
  server.answers.moderation = () => ({ ...verdict(false), category_applied_input_types: { violence: ['text'] } })
  await assert.rejects(engine.moderate({ ...input('a cat'), image: picture(1) }, live()), EngineError)
  await engine.close?.()
})

test('openai-moderations: a threshold replaces the verdict of its own category only, and a missing score throws', async () => {
  const engine = openai({ thresholds: { violence: 0.8 } })
  const answer = (violence: unknown, flags: object) => {
    server.answers.moderation = () => ({
      flagged: true,
      categories: { violence: true, sexual: false, ...flags },
      category_scores: { violence },
    })
    return engine.moderate(input('a cat'), live())
  }
  assert.equal((await answer(0.79, {})).verdict, 'allow')
  assert.deepEqual((await answer(0.8, {})).categories, ['violence'])
  assert.deepEqual((await answer(0.1, { sexual: true })).categories, ['sexual'])
  await assert.rejects(answer(undefined, {}), EngineError)
  await engine.close?.()
})

test('chat-guard: an answer that was cut, or filtered by the server, blocks by its first word; servers have several words for a whole one', async () => {
  const cut: Record<Format, string> = {
    'llama-guard': 'unsafe\nS9\nThe prompt',
    qwen3guard: 'Safety: Unsafe\nCategories: Vio',
    'gpt-oss-safeguard': '{"violation":1,"category":"violence","ration',
    'yes-no': 'Yes, because the',
  }
  for (const format of FORMATS) {
    const engine = guard(format)
    const judged = async (content: string, finish_reason: unknown) => {
      server.script({ method: 'POST', fault: verdictOf(content, finish_reason) })
      return (await engine.moderate(input('a cat'), live())).verdict
    }
    for (const reason of ['length', 'content_filter', null]) assert.equal(await judged(cut[format], reason), 'block')
    for (const reason of ['stop', 'STOP', 'eos', 'eos_token', 'end_turn'])
      assert.equal(await judged(WORDS[format].safe, reason), 'allow', reason)
    await engine.close?.()
  }
})

test('openai-moderations: what is flagged is blocked, however odd the rest of the reply', async () => {
  const flagged = { flagged: true, categories: { violence: true } }
  const replies: Array<[results: unknown, ...categories: string[]]> = [
    [[flagged, { flagged: false, categories: { a: false } }], 'violence'],
    [[{ ...flagged, categories: { violence: true, odd: 'no' } }], 'violence'],
    [[{ flagged: true }], 'flagged'],
    [[{ flagged: true, categories: {} }], 'flagged'],
    [[{ flagged: true, categories: null }], 'flagged'],
    [[{ categories: { violence: true } }], 'violence'],
    [[{ flagged: 'yes', categories: { violence: true } }], 'violence'],
  ]
  const engine = openai()
  for (const [results, ...categories] of replies) {
    server.script({ method: 'POST', fault: ok({ results }) })
    const judged = await engine.moderate({ ...input('a cat'), image: picture(1) }, live())
    assert.deepEqual([judged.verdict, judged.categories], ['block', categories], JSON.stringify(results))
  }
  await engine.close?.()
})

test('qwen3guard: what controversial means is a setting, and blocks without one', async () => {
  server.answers.chat = () => 'Safety: Controversial\nCategories: Politically Sensitive Topics'
  for (const [setting, verdict] of [
    [undefined, 'block'],
    ['block', 'block'],
    ['allow', 'allow'],
  ] as const) {
    const engine = guard('qwen3guard', setting === undefined ? {} : { controversial: setting })
    assert.equal((await engine.moderate(input('a cat'), live())).verdict, verdict)
    await engine.close?.()
  }
})

test('a policy of the operator takes the place of ours, and the question with the form of the answer stays', async () => {
  const systemOf = async (format: Format, policy?: string) => {
    speak(format, 'safe')
    const engine = guard(format, policy === undefined ? {} : { policy })
    await engine.moderate(input('a cat'), live())
    await engine.close?.()
    const { messages } = server.requests.at(-1)!.json as { messages: Array<{ role: string; content: string }> }
    return messages[0]!.role === 'system' ? messages[0]!.content : null
  }
  for (const [format, form] of [
    ['gpt-oss-safeguard', /"violation": 0 or 1/],
    ['yes-no', /one word, Yes or No/],
  ] as const) {
    assert.match((await systemOf(format))!, form)
    const own = (await systemOf(format, 'Forbidden: lighthouses.'))!
    assert.match(own, /^Forbidden: lighthouses\.\n\n/)
    assert.match(own, form)
  }
  for (const format of ['llama-guard', 'qwen3guard'] as const) assert.equal(await systemOf(format), null)
})

test('options that a guard format cannot honor are mistakes, not ignored', () => {
  const entry = { kind: 'chat-guard', base_url: 'http://guard:8000', model: 'g' }
  assert.deepEqual(engineMistakes('moderation', { ...entry, format: 'llama-guard' }), [])
  assert.equal(engineMistakes('moderation', { ...entry, format: 'llama-guard', policy: 'x' })[0]?.path, 'policy')
  assert.equal(engineMistakes('moderation', { ...entry, format: 'qwen3guard', images: true })[0]?.path, 'images')
  assert.equal(
    engineMistakes('moderation', { ...entry, format: 'yes-no', controversial: 'allow' })[0]?.path,
    'controversial',
  )
  assert.equal(engineMistakes('moderation', { kind: 'openai-moderations', base_url: 'guard' })[0]?.path, 'base_url')
})

function speak(format: Format | null, word: 'safe' | 'unsafe'): void {
  server.answers.moderation = () => verdict(word === 'unsafe')
  if (format !== null) server.answers.chat = () => WORDS[format][word]
}

function verdict(flagged: boolean) {
  const category_applied_input_types = { violence: ['text', 'image'] }
  return {
    flagged,
    categories: { violence: flagged },
    category_scores: { violence: flagged ? 0.9 : 0.1 },
    category_applied_input_types,
  }
}

function input(text: string) {
  return { text, image: null, purpose: 'video_prompt' as const }
}

function picture(byte: number) {
  return { media_type: 'image/jpeg', bytes: new Uint8Array(12).fill(byte) }
}

function base64(byte: number): string {
  return Buffer.alloc(12, byte).toString('base64')
}

function live(): AbortSignal {
  return new AbortController().signal
}
