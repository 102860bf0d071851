import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Ran, runCommand, runKinora } from '../support/command.ts'
import { startChatUpstream } from '../support/upstream/chat-upstream.ts'
import { startEngineServer } from '../support/upstream/engine-server/server.ts'

const dir = mkdtempSync(join(tmpdir(), 'kinora-engines-check-'))
const [server, upstream] = await Promise.all([startEngineServer(), startChatUpstream()])
after(async () => {
  await Promise.all([server.close(), upstream.close()])
  rmSync(dir, { recursive: true, force: true })
})

type Finding = { title: string; level: string; outcome: string; detail: string; seconds: number }
type Result = { ok: boolean; engines: Array<Record<string, unknown> & { checks: Finding[] }> }

const PRICE = 'price_per_million: { input: "1", output: "2" }'
const VIDEO = (options: string) => `video_models: [{ id: clips, per_second: "0.01", engine: ${options} }]\n`
const TASKS = `{ kind: content-tasks, dialect: minimax, base_url: "${server.url}", api_key: secret-key, model: MiniMax-H3 }`
const NO_CHAT = 'chat_models: []\n'

async function check(config: string, ...args: string[]): Promise<Ran> {
  return runCommand(commandOf(config, args))
}

/** `engines check` of a file with this configuration. */
function commandOf(config: string, args: string[]): string[] {
  const path = join(dir, 'kinora.yaml')
  writeFileSync(path, config)
  return ['engines', 'check', '--config', path, ...args]
}

async function found(
  config: string,
  ...args: string[]
): Promise<{ code: number | null; result: Result; of(title: RegExp): Finding }> {
  const { code, stdout, stderr } = await check(config, '--json', ...args)
  assert.ok(stdout.startsWith('{'), `${code}: ${stdout}${stderr}`)
  const result = JSON.parse(stdout) as Result
  const findings = result.engines.flatMap(({ checks }) => checks)
  return { code, result, of: (title) => findings.find((finding) => title.test(finding.title))! }
}

test('every engine of a configuration is asked, and what holds is printed; exit code 0', async () => {
  const chat = `chat_models: [{ id: talk, engine: sandbox, capabilities: [tools, structured_outputs, reasoning], ${PRICE} }]\n`
  const config = `${VIDEO('instant')}${chat}translation: { engine: { kind: chat, base_url: "${server.url}", model: m } }\n`
  const { code, result } = await found(config)
  assert.deepEqual(
    result.engines.map(({ family, model, engine, kind }) => [family, model, engine, kind]),
    [
      ['video', 'clips', null, 'instant'],
      ['chat', 'talk', null, 'sandbox'],
      ['moderation', null, null, 'rules'],
      ['translation', null, null, 'chat'],
    ],
  )
  const failed = result.engines.flatMap(({ checks }) =>
    checks.filter(({ outcome, level }) => outcome === 'fails' && level === 'must'),
  )
  assert.deepEqual(failed, [])
  assert.deepEqual([code, result.ok], [0, true])
  const { stdout, stderr } = await runKinora(commandOf(config, ['talk']), { cwd: dir })
  assert.match(stdout, /^talk: sandbox\n/)
  assert.match(stdout, /✓ calls a tool when it must/)
  assert.match(stdout, /– looks at a picture\n {6}`vision` is not among the capabilities/)
  assert.match(stdout, /\d+ hold, 0 fail/)
  assert.match(stderr, /talk: sandbox, 1 of \d+: /, 'progress')
})

test('the clip of a real dialect is described, and what the service would repair of it', async () => {
  server.conduct({ polls: 1 })
  const { code, of } = await found(VIDEO(TASKS) + NO_CHAT, 'clips')
  assert.equal(code, 0)
  const { outcome, detail } = of(/renders text/)
  assert.equal(outcome, 'holds')
  assert.match(detail, /^\d+x\d+, \d+\.\d\d s/)
  assert.equal(of(/kind of input/), undefined, 'a render for each input is asked for by a flag')
  assert.match(of(/repeated/).detail, /protocol/)
})

test('refused credentials fail the check with exit code 1, are said so, and no credential is printed', async () => {
  const refused = { kind: 'status', status: 401, body: { error: { message: 'leak-marker' } } } as const
  server.script({ method: 'POST', times: 10, fault: refused })
  const { code, stdout, stderr } = await check(VIDEO(TASKS) + NO_CHAT, 'clips')
  server.unscript()
  assert.equal(code, 1)
  assert.match(stdout, /✗ renders text .*\n {6}.*\[permanent\]/)
  assert.doesNotMatch(stdout + stderr, /secret-key|leak-marker/)
})

test('a render that the engine fails, and a clip that is too short, fail the check', async () => {
  server.conduct({ polls: 0, status: 'failed', error: { code: 1000, message: 'leak-marker' } })
  const failed = await found(VIDEO(TASKS) + NO_CHAT, 'clips')
  assert.equal(failed.code, 1)
  assert.match(failed.of(/renders text/).detail, /ended as failed/)
  server.conduct({ polls: 0, status: null, error: null })
})

test('a chat model that cannot do what its entry lists fails the check', async () => {
  const entry = `{ kind: openai, base_url: "${upstream.url}", model: m, api_key: secret-key }`
  const chat = `chat_models: [{ id: talk, engine: ${entry}, capabilities: [tools, logprobs, vision, structured_outputs], ${PRICE} }]\n`
  const { code, of } = await found(VIDEO('instant') + chat, 'talk')
  assert.equal(code, 1)
  assert.equal(of(/by a schema/).outcome, 'fails')
  assert.equal(of(/probability/).outcome, 'fails')
  assert.equal(of(/a plain answer/).outcome, 'holds')
})

test('moderation that blocks nothing, or everything, fails the check', async () => {
  const guard = `moderation: { engine: { kind: openai-moderations, base_url: "${server.url}", api_key: secret-key } }\n`
  const { code, of } = await found(VIDEO('instant') + NO_CHAT + guard, 'moderation')
  assert.equal(code, 1)
  assert.equal(of(/are harmless/).outcome, 'holds')
  assert.match(of(/that are not/).detail, /4 of 4: .*is allowed/)
})

test('--free starts nothing at an engine', async () => {
  const before = server.requests.length
  const { code, result } = await found(VIDEO(TASKS) + NO_CHAT, 'clips', '--free')
  assert.deepEqual([code, server.requests.length], [0, before])
  assert.ok(result.engines[0]!.checks.length >= 3)
})

test('a malformed command exits with 2, and an unknown name with those that there are', async () => {
  const unknown = await check(VIDEO('instant') + NO_CHAT, 'nothing')
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /there is no nothing; there are clips, moderation/)
  for (const args of [['engines'], ['engines', 'mend'], ['engines', 'check', 'a', 'b'], ['engines', 'check', '--paid']])
    assert.equal((await runCommand(args)).code, 2, args.join(' '))
  const { code, stdout } = await runCommand(['engines', '--help'])
  assert.equal(code, 0)
  assert.match(stdout, /--free/)
})
