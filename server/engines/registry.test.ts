import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EngineEntry } from '../config/models.ts'
import { buildEngines, engineMistakes, engineSchemas } from './registry.ts'

const quiet = { chat_models: [], moderation: 'rules', translation: 'none' }
const env = { work_dir: '/tmp' }
const kindsOf = (family: 'video' | 'chat') => [...engineSchemas(family).keys()].join(', ')
/** A model with one engine. */
const sole = (id: string, engine: EngineEntry) => ({
  id,
  engines: [{ name: null, engine, weight: 1, max_renders: null }],
})
const h3 = { kind: 'videos-api', dialect: 'sglang', base_url: 'http://h3:30000' }

test('models whose entries differ in the model alone share one engine, others do not', async () => {
  const engines = buildEngines(
    {
      video_models: [
        sole('a', { ...h3, model: 'MiniMax-H3' }),
        sole('b', { base_url: 'http://h3:30000', model: 'Wan', dialect: 'sglang', kind: 'videos-api' }),
        sole('c', { ...h3, seconds: [4, 8] }),
        sole('d', 'instant'),
        sole('e', { kind: 'instant' }),
      ],
      ...quiet,
    },
    env,
  )
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((id) => engines.video.get(id)!.members[0]!)
  assert.equal(a!.engine, b!.engine)
  assert.notEqual(a!.engine, c!.engine)
  assert.equal(d!.engine, e!.engine)
  assert.deepEqual([a!.model, b!.model, c!.model, d!.model], ['MiniMax-H3', 'Wan', 'c', 'd'])
  assert.deepEqual([a!.name, d!.name], ['videos-api', 'instant'])
  await engines.close()
})

test('chat models share an engine likewise, and keep what it calls each of them', async () => {
  const vllm = { kind: 'openai', base_url: 'http://vllm:8000/v1' }
  const chat_models = [
    { id: 'qwen', engine: { ...vllm, model: 'Qwen/Qwen3' } },
    { id: 'llama', engine: { ...vllm, model: 'Llama' } },
    { id: 'other', engine: { ...vllm, developer_role: true } },
    { id: 'sandbox-1', engine: 'sandbox' },
  ]
  const engines = buildEngines({ video_models: [], ...quiet, chat_models }, env)
  const [qwen, llama, other, sandbox] = chat_models.map(({ id }) => engines.chat.get(id)!)
  assert.equal(qwen!.engine, llama!.engine)
  assert.notEqual(qwen!.engine, other!.engine)
  assert.deepEqual(
    [qwen!.model, llama!.model, other!.model, sandbox!.model],
    ['Qwen/Qwen3', 'Llama', 'other', 'sandbox-1'],
  )
  assert.deepEqual([qwen!.name, sandbox!.name], ['openai', 'sandbox'])
  await engines.close()
})

test('mistakes in the entry of a chat engine are reported with their path', () => {
  const paths = (more: object) => engineMistakes('chat', { kind: 'openai', ...more }).map(({ path }) => path)
  const base_url = 'http://vllm:8000'
  assert.deepEqual(paths({ base_url }), [])
  assert.deepEqual(paths({ endpoints: [{ base_url, weight: 3, api_key: 'k', model: 'm' }, { base_url }] }), [])
  assert.deepEqual(paths({}), ['base_url'])
  assert.deepEqual(paths({ base_url, endpoints: [{ base_url }] }), ['endpoints'])
  assert.deepEqual(paths({ endpoints: [{ base_url: 'vllm', weight: 0 }] }).toSorted(), [
    'endpoints.0.base_url',
    'endpoints.0.weight',
  ])
  assert.deepEqual(paths({ base_url, headers: { Host: 'x' } }), ['headers.Host'])
  assert.deepEqual(paths({ base_url, max_tokens_field: 'tokens' }), ['max_tokens_field'])
  assert.equal(engineMistakes('chat', 'gpt')[0]?.message, `Must be one of ${kindsOf('chat')}.`)
})

test('an entry with a mistake is not built, and the error holds none of its values', () => {
  const secret = { ...h3, api_key: 5, headers: { authorization: 'leak-marker' }, dialect: 'leak-marker' }
  assert.throws(
    () => buildEngines({ video_models: [sole('a', secret)], ...quiet }, env),
    (error: Error) => /dialect/.test(error.message) && !/leak-marker/.test(error.message),
  )
})

test('every mistake of an entry is reported at once, each with its place', () => {
  assert.deepEqual(engineMistakes('video', 'sora'), [{ path: '', message: `Must be one of ${kindsOf('video')}.` }])
  assert.equal(engineMistakes('translation', { kind: 'rules' })[0]?.path, 'kind')
  const paths = engineMistakes('video', { kind: 'videos-api', dialect: 'x', inputs: ['y'], typo: 1 }).map(
    ({ path }) => path,
  )
  assert.deepEqual(paths.toSorted(), ['base_url', 'dialect', 'inputs.0', 'typo'])
  assert.deepEqual(engineMistakes('translation', { kind: 'chat', base_url: 'http://llm:8000', model: 'm' }), [])
  assert.deepEqual(engineMistakes('moderation', { kind: 'rules', deny: ['a', '/b/i'], media: 'block' }), [])
})
