import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { loadConfig } from '../../server/config/load.ts'
import { engineMistakes } from '../../server/engines/registry.ts'
import { StartError } from '../../server/platform/start-error.ts'

let dir: string
before(() => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-mistakes-'))
})
after(() => rmSync(dir, { recursive: true, force: true }))

/** The mistakes of a file as `line place: message`, without the path of the file. */
function mistakesOf(text: string): string[] {
  const path = join(dir, 'kinora.yaml')
  writeFileSync(path, text)
  try {
    loadConfig({ config: path }, {}, engineMistakes)
  } catch (error) {
    assert.ok(error instanceof StartError)
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim().replace(`${path}:`, ''))
  }
  return []
}

const chat = (more: string) => `chat_models:
  - id: one
    engine: sandbox
    price_per_million: { input: "0.10", output: "0.40" }
    ${more}
`
const engineOf = (entry: string) => `video_models:
  - id: one
    engine: { ${entry} }
    per_second: "0.01"
`

test('a price written as a number is shown as it has to be written, in quotation marks', () => {
  const text = `video_models:
  - { id: one, engine: storyboard, per_second: 0.01 }
chat_models:
  - { id: two, engine: sandbox, price_per_million: { input: 1, output: 0.0000001 } }
first_run: { balance: -5 }
`
  assert.deepEqual(mistakesOf(text).sort(), [
    '2 video_models[0].per_second: must be text; write per_second: "0.01" in quotation marks',
    '4 chat_models[0].price_per_million.input: must be text; write input: "1" in quotation marks',
    '4 chat_models[0].price_per_million.output: must be text; write output: "0.0000001" in quotation marks',
    '5 first_run.balance: must be an amount in quotation marks, such as "0.01", with at most 8 digits after the point',
  ])
  const fine = 'video_models: [{ id: one, engine: storyboard, per_second: "0.0000001" }]\n'
  assert.deepEqual(mistakesOf(fine), [
    '1 video_models[0].per_second: must be an amount in quotation marks, such as "0.01", with at most 6 digits after the point',
  ])
})

test('other text written as a number is asked for in quotation marks without being shown', () => {
  const text =
    'chat_models:\n  - { id: one, engine: { kind: openai, base_url: "http://a", api_key: 12345 }, price_per_million: { input: "1", output: "1" } }\n'
  assert.deepEqual(mistakesOf(text), ['2 chat_models[0].engine.api_key: Must be text; write it in quotation marks.'])
  assert.deepEqual(mistakesOf('host: 5\n'), ['1 host: must be text; write it in quotation marks'])
})

test('an address without its scheme is asked for it, in every place that takes one', () => {
  const scheme = /: (must|Must) begin with http:\/\/ or https:\/\//
  for (const text of [
    'public_url: example.com\n',
    'engine_url: "kinora.internal:8080"\n',
    'terms: { version: "1", url: example.com/terms }\n',
    engineOf('kind: videos-api, dialect: sglang, base_url: "h3.internal:30000"'),
    engineOf('kind: videos-api, dialect: sglang, base_url: "http://a", references_base_url: h3'),
    engineOf('kind: videos-api, dialect: sglang, base_url: "http://a", output_origins: [h3]'),
    'moderation: { engine: { kind: openai-moderations, base_url: "guard:9000" } }\n',
    'translation: { engine: { kind: chat, model: m, base_url: "llm:8000" } }\n',
    chat('').replace('engine: sandbox', 'engine: { kind: openai, base_url: "vllm:8000" }'),
    chat('').replace('engine: sandbox', 'engine: { kind: openai, endpoints: [{ base_url: "vllm:8000" }] }'),
  ]) {
    const found = mistakesOf(text)
    assert.equal(found.length, 1, text)
    assert.match(found[0]!, scheme, text)
  }
})

test('signed URLs that would outlive the render are refused with the line, wherever their life is named', () => {
  const model = (engine: string, more: string) =>
    `video_models:\n  - id: one\n    engine: ${engine}\n    per_second: "0.01"\n${more}`
  const sglang = (more = '') => `{ kind: videos-api, dialect: sglang, base_url: "http://a"${more} }`
  const limit = (seconds: number) => `must be at most ${seconds}, the time limit of a render (render_seconds)`
  const ttl = 'signed_url_ttl_seconds'
  assert.deepEqual(mistakesOf(model(sglang(), `    ${ttl}: 3600\n`)), [])
  assert.deepEqual(mistakesOf(model(sglang(), `    ${ttl}: 3601\n`)), [`5 video_models[0].${ttl}: ${limit(3600)}`])
  assert.deepEqual(mistakesOf(model(sglang(), `    render_seconds: 600\n    ${ttl}: 900\n`)), [
    `6 video_models[0].${ttl}: ${limit(600)}`,
  ])
  assert.deepEqual(mistakesOf(model(sglang(), `    ${ttl}: 900\nlimits: { render_seconds: 800 }\n`)), [
    `5 video_models[0].${ttl}: ${limit(800)}`,
  ])
  assert.deepEqual(mistakesOf(model(sglang(`, ${ttl}: 4000`), '')), [`3 video_models[0].engine.${ttl}: ${limit(3600)}`])
  assert.match(mistakesOf(model(sglang(`, ${ttl}: 400`), `    ${ttl}: 500\n`))[0]!, /^3 .* contradicts .*: 500 /)
  assert.deepEqual(mistakesOf(`${ttl}: 901\n`), [`1 ${ttl}: must be at most 900`])
})

test('the allowed values are listed: capabilities, parameters, dialects, log levels, kinds of storage', () => {
  assert.deepEqual(mistakesOf(chat('capabilities: [vision, sight]')), [
    '5 chat_models[0].capabilities[1]: must be one of vision, video, audio, tools, reasoning, structured_outputs, logprobs',
  ])
  assert.match(mistakesOf(chat('extra_params: [temperature]'))[0]!, /must be one of metadata, service_tier, /)
  assert.deepEqual(mistakesOf('log_level: loud\n'), ['1 log_level: must be one of debug, info, warn, error, silent'])
  assert.match(mistakesOf('storage: { kind: tape }\n')[0]!, /^1 storage\.kind: must be one of disk, s3/)
  const dialect = mistakesOf(engineOf('kind: videos-api, dialect: h3, base_url: "http://a"'))
  assert.deepEqual(dialect, ['3 video_models[0].engine.dialect: Must be one of openai, openrouter, sglang, vllm-omni.'])
})

test('a tab is reported as one mistake that names the line, whatever else the YAML parser makes of it', () => {
  const tab = 'is indented with a tab; YAML takes spaces alone'
  assert.deepEqual(mistakesOf('plans:\n\tfree: {}\n'), [`2: ${tab}`])
  assert.deepEqual(mistakesOf('limits: {\n\tqueue_seconds: 10 }\n'), [`2: ${tab}`])
  const lines = 'video_models:\n  - id: one\n\tengine: storyboard\n\tper_second: "1"\n'
  assert.deepEqual(mistakesOf(lines), [`3: ${tab} (and 1 more line)`])
  assert.deepEqual(mistakesOf('currency:\tusd\n'), [])
})

test('a missing member is reported with its path, and a value of the wrong kind with an explanation', () => {
  const text = `port: "8080"
workers: 0
terms: {}
plans: { free: { requests_per_minute: often } }
video_models: [{ id: "a b", engine: [storyboard], per_second: "1" }]
chat_models: none
`
  assert.deepEqual(mistakesOf(text).sort(), [
    '1 port: must be a whole number',
    '2 workers: must be at least 1',
    '3 terms.url: is missing',
    '3 terms.version: is missing',
    '4 plans.free.requests_per_minute: must be a whole number or null',
    '5 video_models[0].engine: must be the name of an engine, or a map with its kind',
    '5 video_models[0].id: must begin with a letter or digit and have at most 128 letters, digits and . _ : / -',
    '6 chat_models: must be a list',
  ])
})

test('every mistake is reported, however many there are', () => {
  const models = Array.from({ length: 40 }, (_, i) => `  - { id: m${i}, engine: storyboard, per_second: ${i} }\n`)
  assert.equal(mistakesOf(`video_models:\n${models.join('')}`).length, 40)
})

test('a base URL works with and without /v1; one that would have it twice, or ends in a call, is a mistake', () => {
  const video = 'kind: videos-api, dialect: sglang'
  for (const fine of ['http://h3:30000', 'http://h3:30000/v1', 'http://h3:30000/api/v3/']) {
    assert.deepEqual(mistakesOf(engineOf(`${video}, base_url: "${fine}"`)), [])
  }
  const twice = mistakesOf(engineOf(`${video}, base_url: "http://h3:30000/v1", path_prefix: /v1`))
  assert.match(twice[0]!, /engine\.path_prefix: The base URL ends in \/v1 already\. Leave one of them off\.$/)
  const calls: Array<[text: string, place: RegExp]> = [
    [engineOf(`${video}, base_url: "http://h3/v1/videos"`), /base_url: .*\/videos/],
    [
      chat('').replace('engine: sandbox', 'engine: { kind: openai, base_url: "http://a/v1/chat/completions/" }'),
      /base_url: .*\/chat\/completions/,
    ],
    [
      chat('').replace(
        'engine: sandbox',
        'engine: { kind: openai, endpoints: [{ base_url: "http://a/chat/completions" }] }',
      ),
      /endpoints\.0|endpoints\[0\]/,
    ],
    ['moderation: { engine: { kind: openai-moderations, base_url: "http://a/v1/moderations" } }\n', /\/moderations/],
    [
      'moderation: { engine: { kind: chat-guard, format: llama-guard, model: m, base_url: "http://a/v1/chat/completions" } }\n',
      /chat/,
    ],
    ['translation: { engine: { kind: chat, model: m, base_url: "http://a/v1/chat/completions" } }\n', /chat/],
    ['public_url: "https://api.example.com/v1"\n', /public_url: .*\/v1/],
  ]
  for (const [text, place] of calls) {
    const found = mistakesOf(text)
    assert.equal(found.length, 1, text)
    assert.match(found[0]!, place)
    assert.match(found[0]!, /is added/)
  }
})

test('the message about an asterisk without quotation marks says how to write it', () => {
  assert.deepEqual(mistakesOf('plans:\n  free:\n    video_models: [*]\n'), ['3: write "*" in quotation marks'])
  assert.deepEqual(mistakesOf('plans:\n  free:\n    video_models:\n      - *\n'), ['4: write "*" in quotation marks'])
})

test('an invalid log level in the environment is reported with the other mistakes', () => {
  const env = { KINORA_LOG_LEVEL: 'loud', KINORA_SECRET: 'short' }
  assert.throws(
    () => loadConfig({}, env, engineMistakes),
    (error: Error) => {
      assert.match(error.message, /has 2 mistakes/)
      assert.match(error.message, /KINORA_LOG_LEVEL: must be one of debug, info, warn, error, silent/)
      return true
    },
  )
})

test('a model has one engine or several, each with a name of its own, and their mistakes have their lines', () => {
  const model = (engines: string) => `video_models:\n  - id: one\n    per_second: "0.01"\n${engines}`
  const two = (first: string, second: string) =>
    model(`    engines:\n      - { name: ${first}, engine: storyboard }\n      - { name: ${second} }\n`)
  assert.deepEqual(mistakesOf(model('    engine: storyboard\n')), [])
  assert.deepEqual(mistakesOf(two('own', 'rented, weight: 2, max_renders: 3, engine: instant')), [])
  assert.deepEqual(mistakesOf(model('')), ['2 video_models[0]: needs an engine, or engines'])
  assert.deepEqual(mistakesOf(model('    engine: instant\n    engines: [{ name: own, engine: storyboard }]\n')), [
    '5 video_models[0].engines: cannot be used with engine; make it the first of engines',
  ])
  assert.deepEqual(mistakesOf(two('own', 'own, engine: instant')), [
    '6 video_models[0].engines[1].name: the name own is used twice',
  ])
  assert.match(
    mistakesOf(two('own', 'rented, engine: sora'))[0]!,
    /^6 video_models\[0\]\.engines\[1\]\.engine: Must be/,
  )
  const slow = '{ kind: videos-api, dialect: openai, base_url: "http://h3:30000", seconds: [1, 3] }'
  assert.deepEqual(mistakesOf(two('own', `rented, engine: ${slow}`)), [
    '6 video_models[0].engines[1].engine.seconds: No clip has such a length: they are of 4 to 15 seconds.',
  ])
})

test('a capability that the engine of a chat model cannot carry is a mistake at its line', () => {
  const llama = `chat_models:
  - id: local
    engine: { kind: llama, model_file: model.gguf }
    capabilities:
      - tools
      - vision
    price_per_million: { input: "0.10", output: "0.40" }
`
  assert.deepEqual(mistakesOf(llama), [
    '6 chat_models[0].capabilities[1]: The engine llama cannot carry vision; it carries tools, reasoning, structured_outputs.',
  ])
  assert.deepEqual(
    mistakesOf(chat('capabilities: [vision, video, audio, tools, reasoning, structured_outputs, logprobs]')),
    [],
  )
})

test('of storage in a bucket everything that is missing, contradicts or cannot be is reported, and no secret is shown', () => {
  const s3 = (more: string) => `storage: { kind: s3, region: us-east-1, bucket: clips, ${more} }\n`
  assert.deepEqual(mistakesOf(s3('endpoint: "https://s3.example.com", prefix: a/b/')), [])
  assert.deepEqual(mistakesOf('storage: { kind: s3 }\n'), [
    '1 storage.region: is missing; kind s3 needs it',
    '1 storage.bucket: is missing; kind s3 needs it',
  ])
  assert.deepEqual(mistakesOf('storage: { kind: disk, bucket: clips }\n'), [
    '1 storage.bucket: is a setting of kind s3',
  ])
  const alone = mistakesOf(s3('secret_access_key: canary'))
  assert.deepEqual(alone, ['1 storage.access_key_id: is missing beside secret_access_key'])
  assert.match(
    mistakesOf(s3('endpoint: "https://key:canary@s3.example.com"'))[0]!,
    /^1 storage\.endpoint: must be http/,
  )
  assert.match(mistakesOf(s3('prefix: /a'))[0]!, /^1 storage\.prefix: must .* end with a slash/)
  assert.match(mistakesOf(s3('presigned_endpoint: "http://a"'))[0]!, /needs presigned: true/)
  assert.match(mistakesOf(`content_delivery: x-accel\n${s3('')}`)[0]!, /^1 content_delivery: .*storage.kind disk/)
  assert.match(mistakesOf(s3('also_read: { kind: s3, region: a, bucket: clips }'))[0]!, /is the same storage/)
  assert.deepEqual(mistakesOf(s3('also_read: { kind: disk }')), [])
})
