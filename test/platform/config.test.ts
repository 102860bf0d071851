import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ConfigFile } from '../../server/config/file.ts'
import { type ConfigFlags, loadConfig } from '../../server/config/load.ts'
import { engineMistakes } from '../../server/engines/registry.ts'
import { StartError } from '../../server/platform/start-error.ts'
import { publishedSchema } from '../support/pages/published-schema.ts'
import { filesMatching, ROOT } from '../support/sources.ts'

let dir: string
before(() => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-config-'))
})
after(() => rmSync(dir, { recursive: true, force: true }))

test('nothing configured is a complete service: embedded engines, one plan, a price for each second', () => {
  const config = loadConfig({}, {}, engineMistakes)
  assert.deepEqual([config.host, config.port, config.workers, config.currency], ['127.0.0.1', 8080, 1, 'usd'])
  assert.deepEqual([config.database_url, config.secret, config.public_url], [null, null, null])
  assert.deepEqual(
    config.video_models.map(({ id, engines, per_second }) => [id, engines, per_second]),
    [['storyboard-1', [{ name: null, engine: 'storyboard', weight: 1, max_renders: null }], 1_000_000n]],
  )
  assert.deepEqual([...config.plans.keys(), config.default_plan], ['free', 'free'])
  assert.deepEqual(
    [config.moderation, config.translation, config.first_run.balance],
    ['rules', 'none', 10_000_000_000n],
  )
})

test('secrets come from files as well, without the line end; a file beside its variable, or one that cannot be read, is a mistake', () => {
  const [secret, previous, engine] = ['s'.repeat(32), 'p'.repeat(32), 'an engine key']
  for (const [name, text] of [
    ['now', `${secret}\n`],
    ['before', `${previous}\n${secret}\n`],
    ['engine', `${engine}\n`],
  ] as const)
    writeFileSync(join(dir, name), text)
  const path = write(
    `translation: { engine: { kind: http, format: libretranslate, base_url: "https://t.example", api_key: "\${file:engine}" } }`,
  )
  const files = { KINORA_SECRET_FILE: join(dir, 'now'), KINORA_SECRET_PREVIOUS_FILE: join(dir, 'before') }
  const config = loadConfig({ config: path }, files, engineMistakes)
  assert.deepEqual([config.secret, config.previous_secrets], [secret, [previous, secret]])
  assert.equal(Object(config.translation).api_key, engine)
  assert.match(
    refusal({}, { ...files, KINORA_SECRET: secret }),
    /KINORA_SECRET_FILE: cannot be used with KINORA_SECRET/,
  )
  rmSync(join(dir, 'engine'))
  assert.match(refusal({ config: path }, {}), /api_key: the file .*engine cannot be read \(ENOENT\)/)
})

test('flags win over the environment, the environment over the file, the file over the defaults', () => {
  const path = write('host: 127.0.0.4\nport: 4\nworkers: 4\ndata_dir: /four\nlog_level: error\n')
  const env = {
    KINORA_CONFIG: path,
    KINORA_HOST: '127.0.0.3',
    KINORA_PORT: '3',
    KINORA_WORKERS: '3',
    KINORA_DATA_DIR: '/three',
  }
  const of = (flags: ConfigFlags, given: NodeJS.ProcessEnv) => {
    const { host, port, workers, data_dir } = loadConfig(flags, given, engineMistakes)
    return [host, port, workers, data_dir]
  }
  const flags = { host: '127.0.0.2', port: '2', workers: '2', data_dir: '/two' }
  assert.deepEqual(of(flags, env), ['127.0.0.2', 2, 2, '/two'])
  assert.deepEqual(of({}, env), ['127.0.0.3', 3, 3, '/three'])
  assert.deepEqual(of({}, { KINORA_CONFIG: path }), ['127.0.0.4', 4, 4, '/four'])
  assert.equal(loadConfig({}, { ...env, KINORA_LOG_LEVEL: 'debug' }, engineMistakes).log_level, 'debug')
  assert.equal(loadConfig({}, env, engineMistakes).log_level, 'error')
})

test('aliases that would grow without end are a mistake like any other', () => {
  const grown = Array.from({ length: 9 }, (_, i) => `  a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(', ')}]`)
  const path = write(`first_run:\n  a0: &a0 [x]\n${grown.join('\n')}\n`)
  assert.match(refusal({ config: path }, {}), /kinora\.yaml: cannot be read: Excessive alias count/)
})

test('an empty variable is not set: the service listens where the file says, on the port and directory of the file', () => {
  const path = write('host: 127.0.0.4\nport: 4\nworkers: 4\ndata_dir: /four\nrole: all\n')
  const names = [
    'HOST',
    'PORT',
    'WORKERS',
    'DATA_DIR',
    'ROLE',
    'LOG_LEVEL',
    'DRAIN_SECONDS',
    'METRICS_PORT',
    'DATABASE_POOL',
  ]
  const empty = Object.fromEntries(names.map((name) => [`KINORA_${name}`, '']))
  const given = { KINORA_CONFIG: path, DATABASE_URL: '' }
  assert.deepEqual(
    loadConfig({}, { ...given, ...empty }, engineMistakes),
    loadConfig({}, { KINORA_CONFIG: path }, engineMistakes),
  )
})

test('all mistakes are reported together, each with its line and what is wrong there', () => {
  const path = write(`currency: USD
plans:
  free:
    max_concurrent_renders: many
video_models:
  - { id: one, engine: storyboard, per_second: 0.01 }
color: red
`)
  const message = refusal(
    { config: path, port: '70000', workers: '0' },
    { KINORA_SECRET: 'short', KINORA_SECRET_PREVIOUS: `${'x'.repeat(32)},short`, DATABASE_URL: 'mysql://x' },
  )
  for (const place of [
    `${path}:1 currency`,
    `${path}:4 plans.free.max_concurrent_renders`,
    `${path}:6 video_models[0].per_second`,
    '--port',
    '--workers',
    'KINORA_SECRET',
    'KINORA_SECRET_PREVIOUS',
    'DATABASE_URL',
  ]) {
    assert.ok(message.includes(`  ${place}: `), `${place} in ${message}`)
  }
  assert.match(message, /:7 color: unknown setting/)
  assert.match(message, /has 9 mistakes/)
})

test('mistakes beyond the schema are reported: duplicate ids, unknown models, unknown engine options', () => {
  const path = write(`plans:
  free: { video_models: [gone] }
video_models:
  - { id: one, engine: storyboard, per_second: "0.01" }
  - { id: one, engine: holodeck, per_second: "0.01" }
  - id: three
    engine:
      kind: videos-api
      dialect: sglang
      base_url: "http://h3.internal:30000"
      speed: fast
    per_second: "0.01"
moderation: { engine: { kind: rules, deny: ["/(/"] } }
chat_models: []
prompt_help: { model: vanished }
`)
  const lines = refusal({ config: path }, {}).split('\n')
  const at = (line: number, text: RegExp) =>
    assert.ok(
      lines.some((each) => each.includes(`:${line} `) && text.test(each)),
      `${line} ${text}\n${lines.join('\n')}`,
    )
  at(2, /no such model: gone/)
  at(5, /the id one is used twice/)
  at(5, /storyboard, videos-api/)
  at(11, /not an option/)
  at(13, /moderation/)
  at(15, /no such chat model: vanished/)
})

test('a command that starts no engine reads a file whose prompt_help names a chat model', () => {
  const path = write('chat_models: [{ id: helper, engine: sandbox }]\nprompt_help: { model: helper }\nhost: 10.0.0.7\n')
  assert.equal(loadConfig({ config: path }, {}, null).host, '10.0.0.7')
})

test('text that is not YAML is refused with the line at fault, and a missing file with its name', () => {
  assert.match(refusal({ config: write('plans:\n  free: {\n') }, {}), /:\d+: /)
  assert.match(refusal({ config: write('currency: usd\ncurrency: eur\n') }, {}), /:2: .*unique/i)
  assert.match(refusal({ config: join(dir, 'nowhere.yaml') }, {}), /Cannot read the configuration .*nowhere\.yaml/)
})

test('environment variables are substituted wherever a text names them, and one that is not set is a mistake', () => {
  const text = `moderation:
  engine: { kind: openai-moderations, base_url: "http://\${GUARD_HOST}:9000", api_key: "\${GUARD_KEY}" }
`
  const config = loadConfig(
    { config: write(text) },
    { GUARD_HOST: 'guard.internal', GUARD_KEY: 'secret $& {x}' },
    engineMistakes,
  )
  assert.deepEqual(config.moderation, {
    kind: 'openai-moderations',
    base_url: 'http://guard.internal:9000',
    api_key: 'secret $& {x}',
  })
  assert.match(refusal({ config: write(text) }, { GUARD_HOST: 'guard.internal' }), /:2 .*GUARD_KEY is not set/)
})

test('moderation of outputs needs an engine that judges images', () => {
  const load = (engine: string) =>
    loadConfig({ config: write(`moderation:\n  output: true\n${engine}`) }, {}, engineMistakes)
  const guard = 'kind: chat-guard, base_url: "http://guard:8000", model: g'
  for (const engine of [
    '',
    '  engine: rules\n',
    `  engine: { ${guard}, format: qwen3guard }\n`,
    `  engine: { ${guard}, format: llama-guard, images: false }\n`,
  ])
    assert.throws(
      () => load(engine),
      (error: Error) => /:2 moderation\.output: Needs a moderation engine that judges images\./.test(error.message),
      engine,
    )
  assert.equal(load(`  engine: { ${guard}, format: llama-guard }\n`).moderation_output, true)
  assert.equal(loadConfig({}, {}, engineMistakes).moderation_output, false)
})

test('a mistake never shows the secret it is about', () => {
  const secret = 'hunter2-hunter2'
  const path = write(`public_url: "\${LEAK}"\nfirst_run: { email: "\${LEAK}" }\n`)
  const env = { KINORA_SECRET: secret, KINORA_SECRET_PREVIOUS: secret, DATABASE_URL: secret }
  const message = refusal({ config: path }, { LEAK: secret, ...env })
  assert.ok(!message.includes(secret), message)
})

test('docs/kinora.schema.json is the schema that validates, with a branch for each kind of engine', () => {
  const published = JSON.parse(readFileSync(join(ROOT, 'docs/kinora.schema.json'), 'utf8'))
  assert.deepEqual(published, publishedSchema(), `write it again: node test/support/pages/write-schema.ts`)
  const { properties } = ConfigFile
  assert.deepEqual(Object.keys(published.properties as object), Object.keys(properties))
})

test('every example is a valid configuration', () => {
  const examples = filesMatching(['examples/**/*.yaml'])
  assert.ok(examples.length > 0)
  for (const { path, text } of examples) {
    const named = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name, 'value'] as const)
    loadConfig({ config: join(ROOT, path) }, Object.fromEntries(named), engineMistakes)
  }
})

test('of several previous secrets each that is too short is named by its place, and none is shown', () => {
  const good = 'x'.repeat(32)
  const message = refusal({}, { KINORA_SECRET_PREVIOUS: `${good},canary,, ${good} ,canary2` })
  for (const found of ['entry 2 has 6 bytes', 'entry 5 has 7 bytes']) {
    assert.ok(message.includes(`  KINORA_SECRET_PREVIOUS: ${found}, and a secret has at least 32`), message)
  }
  assert.match(message, /has 2 mistakes/)
  assert.doesNotMatch(message, /canary/)
  assert.deepEqual(loadConfig({}, { KINORA_SECRET_PREVIOUS: `${good},` }, null).previous_secrets, [good])
})

function write(text: string): string {
  const path = join(dir, 'kinora.yaml')
  writeFileSync(path, text)
  return path
}

function refusal(flags: ConfigFlags, env: NodeJS.ProcessEnv): string {
  try {
    loadConfig(flags, env, engineMistakes)
  } catch (error) {
    assert.ok(error instanceof StartError)
    return error.message
  }
  return assert.fail('nothing was refused')
}
