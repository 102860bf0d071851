import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { ROOT } from '../support/sources.ts'
import { commandOf, HERE, run, SUITE, without } from './toolchains/toolchains.ts'

/** Compliance tools that others wrote, unchanged, against the test model with everything it can do. */
let app: TestApp
let key: string
before(async () => {
  app = await startApp({
    config: `
chat_models:
  - id: sandbox-1
    engine: sandbox
    capabilities: [vision, tools, reasoning, structured_outputs, logprobs]
    price_per_million: { input: "0.10", output: "0.40" }
`,
  })
  key = (await newCustomer(app)).key
})
after(async () => {
  const violations = await app?.audit()
  await app?.close()
  assert.deepEqual(violations, {})
})

const CANARY = join(ROOT, 'test/clients/judges/node_modules/compatcanary/src/cli.js')
const INSTALL = 'CompatCanary is not installed: npm ci --prefix test/clients/judges'
const skip = existsSync(CANARY) || process.env.KINORA_ALL_CLIENTS !== undefined ? false : INSTALL

test('every probe of CompatCanary passes', { skip }, async () => {
  assert.ok(existsSync(CANARY), INSTALL)
  const options = ['scan', '--base-url', `${app.url}/v1`, '--model', 'sandbox-1', '--format', 'json']
  const env = { OPENAI_API_KEY: key }
  const report = JSON.parse(await run(process.execPath, [CANARY, ...options], { cwd: ROOT, env }))
  const results = report.results as Array<{ id: string; status: string; summary: string }>
  assert.deepEqual(
    results.filter(({ status }) => status !== 'pass'),
    [],
  )
  assert.equal(results.length, 7)
})

for (const [format, count] of [
  ['openai-chat', 8],
  ['open-responses', 12],
] as const) {
  test(`the ${count} tests of llm-comply for ${format} pass`, { skip: without('llm-comply') }, async () => {
    const options = ['--format', format, '-u', `${app.url}/v1`, '-k', key, '-m', 'sandbox-1', '--json']
    const report = JSON.parse(await run(commandOf('llm-comply'), options, { cwd: HERE }))
    assert.deepEqual([report.summary.passed, report.summary.failed], [count, 0], JSON.stringify(report))
  })
}

/** A checkout whose `node_modules` hold `zod` version 3 and `tsx`. Without one the same cases are in our own words beside this file. */
const suite = process.env.OPEN_RESPONSES_SUITE ?? (without('open-responses') ? undefined : SUITE)

test('the 17 tests of the Open Responses acceptance suite pass', {
  skip: suite === undefined && without('open-responses'),
}, async () => {
  const options = ['bin/compliance-test.ts', '--json', '-u', `${app.url}/v1`, '-k', key, '-m', 'sandbox-1']
  // It exits with 1 when a test fails.
  const tsx = join(suite!, 'node_modules/tsx/dist/cli.mjs')
  const { summary, results } = JSON.parse(await run(process.execPath, [tsx, ...options], { cwd: suite! })) as Report
  const failed = results.filter(({ status }) => status !== 'passed').map(({ id, errors }) => ({ id, errors }))
  assert.deepEqual(failed, [])
  assert.deepEqual(summary, { passed: 17, failed: 0, skipped: 0, total: 17 })
})

type Report = {
  summary: { passed: number; failed: number; skipped: number; total: number }
  results: Array<{ id: string; status: string; errors?: string[] }>
}
