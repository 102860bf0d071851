import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { startChatApp } from '../support/http/chat-app.ts'
import { ROOT } from '../support/sources.ts'
import { chunk, textFrames, USAGE } from '../support/upstream/chat-upstream.ts'
import { startStrictApp } from './strict-app.ts'

const CODEX = join(ROOT, 'test/clients/codex/node_modules/.bin/codex')
const INSTALL = 'Codex is not installed: npm ci --prefix test/clients/codex'
/** Without `KINORA_ALL_CLIENTS` the tests of Codex are left out where it is not installed: it weighs 430 MB. */
const skip = existsSync(CODEX) || process.env.KINORA_ALL_CLIENTS !== undefined ? false : INSTALL
const RUN_MILLISECONDS = 90_000

let service: Awaited<ReturnType<typeof startChatApp>>
let home: string
before(async () => {
  if (skip) return
  assert.ok(existsSync(CODEX), INSTALL)
  service = await startChatApp([{ id: 'm' }])
})
after(() => service?.close())
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'kinora-codex-'))
  if (service) service.upstream.requests.length = 0
})
afterEach(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))

for (const transport of ['http', 'websocket'] as const) {
  test(`codex over ${transport} does its task with a command of the shell`, { skip }, async () => {
    const cmd = 'echo made by codex > made.txt && cat made.txt'
    service.upstream.reply(calling('exec_command', { cmd }), answering('All done.'))
    const { code, events } = await codex('Make a file.', transport)
    assert.equal(code, 0)
    assert.equal(readFileSync(join(home, 'made.txt'), 'utf8'), 'made by codex\n')
    const items = events.flatMap(({ type, item }) => (type === 'item.completed' ? [item] : []))
    assert.equal(items.find(({ type }) => type === 'command_execution').exit_code, 0)
    assert.equal(items.at(-1).text, 'All done.')
    const [, second] = service.upstream.requests
    const [called, output] = (second!.json!.messages as Message[]).slice(-2)
    assert.equal(called!.tool_calls[0].function.name, 'exec_command')
    assert.match(output!.content, /made by codex/)
    assert.equal(service.upstream.requests.length, 2)
    const rows = await service.app.database.db
      .selectFrom('ledger_entries')
      .select('request_id')
      .where('kind', '=', 'charge')
      .orderBy('id')
      .execute()
    const ids = rows.slice(-2).map(({ request_id }) => request_id!)
    // On a socket the first turn warms up, asks no model and costs nothing.
    if (transport === 'http') assert.ok(ids.every((id) => /^req_[0-9a-f]{32}$/.test(id)))
    else
      assert.deepEqual(
        ids.map((id) => id.slice(-2)),
        ['-2', '-3'],
      )
  })

  test(`codex over ${transport} recognizes calls to the tools of its namespaces`, { skip }, async () => {
    const id = '01a200ea-0000-7000-8000-000000000000'
    service.upstream.reply(calling('multi_agent_v1__close_agent', { target: id }), answering('No such agent.'))
    const { code } = await codex('Close the agent.', transport)
    assert.equal(code, 0)
    const messages = service.upstream.requests[1]!.json!.messages as Message[]
    assert.equal(messages.at(-2)!.tool_calls[0].function.name, 'multi_agent_v1__close_agent')
    assert.doesNotMatch(messages.at(-1)!.content, /unsupported|unknown tool/i)
  })
}

for (const transport of ['http', 'websocket'] as const) {
  test(`codex over ${transport} makes twenty calls, one of which prints NUL, before a strict chat server`, {
    skip,
  }, async (t) => {
    const strict = await startStrictApp()
    t.after(() => strict.close())
    const commands = Array.from({ length: 20 }, (_, i) => (i === 6 ? "printf 'ELF\\000\\001'" : `echo step ${i + 1}`))
    strict.upstream.play(...commands.map((cmd) => ({ call: 'exec_command', with: { cmd } })), { text: 'Twenty.' })
    const { code, events } = await codex('Count to twenty.', transport, strict)
    assert.deepEqual(strict.upstream.refused, [])
    assert.equal(code, 0)
    const items = events.flatMap(({ type, item }) => (type === 'item.completed' ? [item] : []))
    assert.equal(items.filter(({ type }) => type === 'command_execution').length, 20)
    assert.equal(items.at(-1).text, 'Twenty.')
    const outputs = strict.upstream.requests.at(-1)!.messages.filter(({ role }: Message) => role === 'tool')
    assert.match(JSON.stringify(outputs[6].content), /ELF/)
    assert.match(JSON.stringify(outputs[19].content), /step 20/)
  })
}

test('codex shows why it cannot continue', { skip }, async () => {
  service.upstream.reply({
    kind: 'json',
    status: 400,
    body: { error: { message: 'x', code: 'context_length_exceeded' } },
  })
  const { code, events } = await codex('Too long.', 'http')
  assert.notEqual(code, 0)
  assert.match(JSON.stringify(events.filter(({ type }) => type === 'turn.failed')), /context window/)
})

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of many shapes.
type Message = Record<string, any>

/** Runs one task of Codex in a home of its own, with no other way out than the service, and gives the events it printed. */
async function codex(
  task: string,
  transport: 'http' | 'websocket',
  { app, person }: Pick<typeof service, 'app' | 'person'> = service,
): Promise<{ code: number | null; events: Message[] }> {
  writeFileSync(join(home, 'config.toml'), configText(transport, app.url))
  const args = [
    'exec',
    '--json',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    '-C',
    home,
    task,
  ]
  const nowhere = 'http://127.0.0.1:9'
  const child = spawn(process.execPath, [CODEX, ...args], {
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CODEX_HOME: home,
      KINORA_API_KEY: person.key,
      HTTPS_PROXY: nowhere,
      HTTP_PROXY: nowhere,
      NO_PROXY: '127.0.0.1',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
    // A group of its own: what Codex starts ends with it.
    detached: true,
  })
  const killAll = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // All of it has ended.
    }
  }
  const deadline = setTimeout(killAll, RUN_MILLISECONDS)
  let printed = ''
  child.stdout.on('data', (text) => {
    printed += text
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(deadline)
  killAll()
  const lines = printed.split('\n').filter((line) => line.startsWith('{'))
  return { code, events: lines.map((line) => JSON.parse(line) as Message) }
}

/** As docs/clients.md has it; the last lines keep Codex from calling anyone else. */
function configText(transport: 'http' | 'websocket', url: string): string {
  return `
model = "m"
model_provider = "kinora"

[model_providers.kinora]
name = "Kinora"
base_url = "${url}/v1"
env_key = "KINORA_API_KEY"
wire_api = "responses"
supports_websockets = ${transport === 'websocket'}
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[features]
plugins = false
apps = false
`
}

function calling(name: string, parameters: object) {
  const call = { index: 0, id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(parameters) } }
  const frames = [
    chunk({ role: 'assistant', tool_calls: [call] }),
    chunk({}, { finish_reason: 'tool_calls', usage: USAGE }),
  ]
  return { kind: 'stream' as const, frames }
}

function answering(text: string) {
  return { kind: 'stream' as const, frames: textFrames([text]) }
}
