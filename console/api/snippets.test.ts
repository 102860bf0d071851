import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { type SnippetLanguage, snippet } from './snippets.ts'

const CORPUS = [
  `it's "quoted" and \\backslashed\\`,
  "'; rm -rf / #",
  '$(touch /tmp/x) `id` $HOME !! \\n',
  'two\nlines\r\nand\ttabs',
  '@/etc/passwd',
  '<d>やあ！</d> 👩‍🚀 \u2028\u2029 \u0007',
  '</script><script>alert(1)</script>',
  '""" \'\'\' {braces} %s %(x)s f"{x}"',
]
const body = { model: 'a-1', prompts: CORPUS, none: null, yes: true, seconds: 8, empty: {}, list: [], share: 0.5 }
const request = { method: 'POST', path: '/v1/videos', base_url: 'https://api.example.com', body } as const
const write = (language: SnippetLanguage) => snippet({ ...request, language, headers: { 'Idempotency-Key': "it's" } })

test('a shell passes every text of a curl command on as it is', () => {
  const script = `curl() { printf '%s\\0' "$@"; }\n${write('curl')}`
  const seen = execFileSync('sh', ['-c', script], { env: { KINORA_API_KEY: 'kin_x' }, encoding: 'utf8' }).split('\0')
  assert.equal(seen[0], 'https://api.example.com/v1/videos')
  assert.ok(seen.includes('Authorization: Bearer kin_x') && seen.includes("Idempotency-Key: it's"))
  assert.deepEqual(JSON.parse(seen[seen.indexOf('-d') + 1]!), body)
})

test('Node sends every text of its program as it is', async () => {
  const code = `globalThis.fetch = async (url, call) => ({ json: async () => JSON.stringify({ url, ...call }) })\n${write('node')}`
  const env = { ...process.env, KINORA_API_KEY: 'kin_x' }
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', code], { env, encoding: 'utf8' })
  const call = JSON.parse(printed)
  assert.equal(call.url, 'https://api.example.com/v1/videos')
  assert.equal(call.method, 'POST')
  assert.equal(call.headers.Authorization, 'Bearer kin_x')
  assert.deepEqual(JSON.parse(call.body), body)
})

const python = spawnSync('python3', ['--version']).status === 0

test('Python sends every text of its program as it is', { skip: !python && 'no python3 here: install it' }, () => {
  const stand = [
    'import sys, types, json',
    'seen = types.ModuleType("requests")',
    'def post(url, headers, json): return types.SimpleNamespace(json=lambda: __import__("json").dumps([url, headers, json]))',
    'seen.post = post',
    'sys.modules["requests"] = seen',
  ]
  const env = { ...process.env, KINORA_API_KEY: 'kin_x' }
  const printed = execFileSync('python3', ['-c', `${stand.join('\n')}\n${write('python')}`], { env, encoding: 'utf8' })
  const [url, headers, sent] = JSON.parse(printed)
  assert.equal(url, 'https://api.example.com/v1/videos')
  assert.equal(headers.Authorization, 'Bearer kin_x')
  assert.deepEqual(sent, body)
})

test('a request without a body is a plain GET, and another method is named', () => {
  const get = { method: 'GET', path: '/v1/videos', base_url: 'http://localhost:8080' } as const
  assert.equal(
    snippet({ ...get, language: 'curl' }),
    'curl \'http://localhost:8080/v1/videos\' \\\n  -H "Authorization: Bearer $KINORA_API_KEY"',
  )
  assert.match(snippet({ ...get, method: 'DELETE', language: 'curl' }), /-X DELETE/)
  assert.doesNotMatch(snippet({ ...get, language: 'node' }), /method|body/)
})
