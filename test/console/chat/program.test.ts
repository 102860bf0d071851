import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { ResponseBody } from '../../../console/chat/request/body.ts'
import { responseProgram } from '../../../console/chat/request/program.ts'
import { ended } from '../../support/command.ts'
import { ROOT } from '../../support/sources.ts'

/** What shells and languages take for code unless it is written with care. */
const HOSTILE = [
  `'; echo pwned; '`,
  '$(touch /tmp/pwned) `id` $HOME \\',
  'it\'s "quoted" \\\' \\" \\n',
  'JSON\nJSON\nEOF',
  '</script>\u2028\u2029\u0000\u007f\ttab\r\n',
  '日本語 😀 #{x} %s {0} """ \'\'\'',
  '!history ; & | > < * ?',
]
const BODY = {
  model: 'm\'"`$',
  input: [
    ...HOSTILE.map((content) => ({ role: 'user', content })),
    { role: 'assistant', content: null, parts: [], 'odd key\n"': true },
  ],
  stream: true,
  temperature: 0.1,
  parallel_tool_calls: false,
  metadata: JSON.parse('{"__proto__": "kept", "a-b": "c", "constructor": "d"}'),
} as unknown as ResponseBody

const EXPECTED = { path: 'POST /v1/responses', authorization: 'Bearer kin_test', body: BODY }

type Seen = { path: string; authorization: string | undefined; body: unknown }
const seen: Seen[] = []
const server = createServer(async (request, response) => {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const text = Buffer.concat(pieces).toString()
  const { authorization } = request.headers
  seen.push({ path: `${request.method} ${request.url}`, authorization, body: text === '' ? null : JSON.parse(text) })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(`data: ${JSON.stringify({ type: 'response.output_text.delta', delta: 'Hello' })}\n\ndata: [DONE]\n\n`)
})
let base_url: string
let dir: string
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  dir = mkdtempSync(join(tmpdir(), 'kinora-snippets-'))
})
after(() => {
  server.closeAllConnections()
  server.close()
  rmSync(dir, { recursive: true, force: true })
})

test('the curl command sends exactly this request', async () => {
  await run('sh', ['-c', responseProgram('curl', base_url, BODY)])
  assert.deepEqual(seen.at(-1), EXPECTED)
})

test('the Node program sends exactly this request with the official client and prints the stream', async () => {
  const stdout = await run(process.execPath, ['--input-type=module', '-e', responseProgram('node', base_url, BODY)])
  assert.deepEqual(seen.at(-1), EXPECTED)
  assert.equal(stdout, 'Hello')
})

/** Stands in for the Python package, which npm cannot install: prints what it was called with. */
const OPENAI_PY = `
import json
def create(self, **arguments):
    print(json.dumps(arguments))
    return []
def start(self, api_key, base_url):
    self.responses = self
OpenAI = type("OpenAI", (), {"__init__": start, "create": create})
`
const python = spawnSync('python3', ['--version']).status === 0

test('the Python program asks the official client for exactly this', {
  skip: !python && 'no python3 here: install it',
}, async () => {
  writeFileSync(join(dir, 'openai.py'), OPENAI_PY)
  assert.deepEqual(JSON.parse(await run('python3', ['-c', responseProgram('python', base_url, BODY)])), BODY)
})

async function run(program: string, args: string[]): Promise<string> {
  const env = { PATH: process.env.PATH, KINORA_API_KEY: 'kin_test', PYTHONPATH: dir, PYTHONDONTWRITEBYTECODE: '1' }
  const { code, stdout, stderr } = await ended(spawn(program, args, { cwd: ROOT, env }))
  assert.equal(code, 0, stderr)
  return stdout
}
