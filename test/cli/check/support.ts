import assert from 'node:assert/strict'
import type { StepResult } from '../../../server/cli/check/steps.ts'
import { runCommand } from '../../support/command.ts'
import type { TestApp } from '../../support/http/app.ts'

/** Of a service whose models differ in price, pace and outcome. */
export const CONFIG = `
plans: { free: { max_concurrent_renders: 1000 } }
video_models:
  - { id: dear-1, engine: instant, per_second: "0.020000" }
  - { id: cheap-1, engine: instant, per_second: "0.010000" }
  - { id: failing-1, engine: { kind: instant, render: permanent }, per_second: "0.020000" }
  - { id: endless-1, engine: { kind: instant, render: endless }, per_second: "0.020000" }
chat_models:
  - { id: dear-chat, engine: sandbox, price_per_million: { input: "10", output: "10" } }
  - { id: quick-chat, engine: sandbox, price_per_million: { input: "5", output: "5" } }
  - { id: paced-chat, engine: { kind: sandbox, delay_ms_per_token: 2 }, price_per_million: { input: "1", output: "2" } }
webhooks: { allow_loopback: true }
`

/** What the command prints with `--json`. */
export type Report = { ok: boolean; url: string; steps: StepResult[]; not_removed: string[] }

/** Runs the command in this process with `--json`. */
export async function checkAs(key: string, url: string, ...args: string[]) {
  const { code, stdout, stderr } = await runCommand(
    ['check', '--url', url, '--json', '--file-megabytes', '2', ...args],
    { KINORA_API_KEY: key },
  )
  assert.ok(stdout.startsWith('{'), `${code}: ${stdout}${stderr}`)
  const report = JSON.parse(stdout) as Report
  assert.deepEqual(report.not_removed, [])
  return { code, report, of: (name: string) => report.steps.find(({ step }) => step === name)! }
}

/** Outcomes by step, of those that are not `ok`. */
export function troubles({ steps }: Report): Record<string, string> {
  return Object.fromEntries(steps.filter(({ outcome }) => outcome !== 'ok').map(({ step, outcome }) => [step, outcome]))
}

/** Whatever a run may have created for this organization. */
export async function remaining(app: TestApp, org_id: string): Promise<number> {
  const tables = ['files', 'video_jobs', 'responses', 'webhook_endpoints'] as const
  const counts = await Promise.all(
    tables.map(
      async (table) =>
        (await app.database.db.selectFrom(table).select('id').where('org_id', '=', org_id).execute()).length,
    ),
  )
  return counts.reduce((sum, count) => sum + count)
}
