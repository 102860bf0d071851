import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { engineSchemas } from '../../server/engines/registry.ts'
import { ROOT } from '../support/sources.ts'
import { type LanguageServer, languageServerProgram, startLanguageServer } from './language-server.ts'

const program = languageServerProgram()
const skip =
  program === null ? 'yaml-language-server is not installed: npm install --no-save yaml-language-server@1.25.0' : false

let server: LanguageServer
before(async () => {
  if (program) server = await startLanguageServer(program)
})
after(() => server?.stop())

/** The comment that leads an editor to the schema, as docs/configuration.md shows it. */
const file = (text: string) => `# yaml-language-server: $schema=./docs/kinora.schema.json\n${text}`
const complete = (text: string) => server.complete('kinora.yaml', file(text))
const messagesOf = async (text: string) =>
  (await server.diagnose('kinora.yaml', file(text))).map(({ message }) => message)

const VIDEO = 'video_models:\n  - id: h3\n    per_second: "0.01"\n    engine:\n'
const CHAT = 'chat_models:\n  - id: qwen\n    price_per_million: { input: "1", output: "1" }\n    engine:\n'

test('an editor completes dialect and base_url of a video engine, and no option of another kind', {
  skip,
}, async () => {
  const offered = await complete(`${VIDEO}      kind: videos-api\n      ¦\n`)
  for (const name of ['dialect', 'base_url', 'api_key', 'inputs', 'path_prefix'])
    assert.ok(offered.includes(name), `${name}: ${offered}`)
  for (const name of ['script', 'polls', 'endpoints', 'deny']) assert.ok(!offered.includes(name), name)
  assert.deepEqual((await complete(`${VIDEO}      kind: videos-api\n      dialect: ¦\n`)).sort(), [
    'openai',
    'openrouter',
    'sglang',
    'vllm-omni',
  ])
})

test('an editor completes the kinds of each family, and the options of each kind', { skip }, async () => {
  const cases = [
    [VIDEO, 'video', 'instant', 'polls'],
    [CHAT, 'chat', 'openai', 'max_tokens_field'],
    ['moderation:\n    engine:\n', 'moderation', 'chat-guard', 'format'],
    ['moderation:\n    engine:\n', 'moderation', 'openai-moderations', 'thresholds'],
    ['translation:\n    engine:\n', 'translation', 'chat', 'response_format'],
  ] as const
  for (const [head, family, kind, option] of cases) {
    const offered = await complete(`${head}      kind: ¦\n`)
    assert.deepEqual([...new Set(offered)].sort(), [...engineSchemas(family).keys()].sort(), head)
    assert.ok((await complete(`${head}      kind: ${kind}\n      ¦\n`)).includes(option), `${kind}: ${option}`)
  }
})

test('an editor marks a missing option, one of another kind, and a price that is a number', { skip }, async () => {
  const missing = await messagesOf(`${VIDEO}      kind: videos-api\n      base_url: "http://h3:30000"\n`)
  assert.deepEqual(missing, ['Missing property "dialect".'])
  const foreign = await messagesOf(`${CHAT}      kind: openai\n      base_url: "http://a"\n      dialect: sglang\n`)
  assert.match(foreign.join(), /dialect/)
  const scheme = await messagesOf(`${CHAT}      kind: openai\n      base_url: vllm:8000\n`)
  assert.match(scheme.join(), /must begin with http:\/\/ or https:\/\//)
  const price = await messagesOf('video_models:\n  - { id: a, engine: storyboard, per_second: 0.01 }\n')
  assert.match(price.join(), /must be an amount in quotation marks/)
})

test('an editor says of base_url whether it ends in /v1', { skip }, async () => {
  const shown = await server.hover('kinora.yaml', file(`${CHAT}      kind: openai\n      base_¦url: "http://a"\n`))
  assert.match(shown, /\/v1 is added when the URL names no version/)
})

test('an editor marks nothing in the examples', { skip }, async () => {
  const text = readFileSync(join(ROOT, 'examples', 'kinora.yaml'), 'utf8')
  assert.deepEqual(await server.diagnose('examples/kinora.yaml', text), [])
})
