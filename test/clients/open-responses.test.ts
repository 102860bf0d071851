import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { newCustomer, startApp } from '../support/http/app.ts'

/**
 * The acceptance suite of Open Responses itself, where `OPEN_RESPONSES_SUITE` names a checkout of it whose `node_modules` hold `zod`
 * version 3 and `tsx`. Without one the same cases are in our own words in the tests beside this one. Source: contract 17.
 */
const suite = process.env.OPEN_RESPONSES_SUITE

const SUITE =
  'the acceptance suite of Open Responses: set OPEN_RESPONSES_SUITE to a checkout of openresponses/openresponses, see docs/contract.md 17'

const TESTS = 17

/** The test model with everything it can do. */
const CONFIG = `
chat_models:
  - id: sandbox-1
    engine: sandbox
    capabilities: [vision, tools, reasoning, structured_outputs]
    price_per_million: { input: "0.10", output: "0.40" }
`

test(`the ${TESTS} tests of the Open Responses acceptance suite pass`, { skip: suite ? false : SUITE }, async (t) => {
  const app = await startApp({ config: CONFIG })
  t.after(app.close)
  const { key } = await newCustomer(app)
  const arguments_ = [
    ...[join(suite!, 'node_modules/tsx/dist/cli.mjs'), 'bin/compliance-test.ts', '--json'],
    ...['-u', `${app.url}/v1`, '-k', key, '-m', 'sandbox-1'],
  ]
  // It exits with 1 when a test fails, and still prints its report.
  const { stdout } = await promisify(execFile)(process.execPath, arguments_, {
    cwd: suite!,
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error: { stdout: string }) => error)
  const { summary, results } = JSON.parse(stdout) as Report
  const failed = results.filter(({ status }) => status !== 'passed').map(({ id, errors }) => ({ id, errors }))
  assert.deepEqual(failed, [])
  assert.deepEqual(summary, { passed: TESTS, failed: 0, skipped: 0, total: TESTS })
  assert.deepEqual(await app.audit(), {})
})

type Report = {
  summary: { passed: number; failed: number; skipped: number; total: number }
  results: Array<{ id: string; status: string; errors?: string[] }>
}
