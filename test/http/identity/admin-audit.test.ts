import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { findAuditState } from '../../../server/billing/audit-state.ts'
import { runCommand, runKinora } from '../../support/command.ts'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { newOrganization } from '../../support/http/people.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const admin = (...args: string[]) => runCommand(['admin', ...args], { DATABASE_URL: app.database.url })

async function json(...args: string[]) {
  const { code, stdout, stderr } = await admin(...args, '--json')
  assert.equal(code, 0, stderr + stdout)
  return JSON.parse(stdout)
}

test('the audit prints one row for each invariant and exits 0 when all hold', async () => {
  const { violations, invariants } = await json('audit')
  assert.equal(violations, 0)
  assert.ok(invariants.length > 0)
  const { stdout } = await admin('audit')
  assert.equal(stdout.trim().split('\n').length, invariants.length)
})

test('the audit exits 1 and names what is broken; the service follows its result until a clean audit', async () => {
  const org_id = await newOrganization(app, 'Broken')
  const { db } = app.database
  await db.updateTable('accounts').set({ balance: 5n }).where('org_id', '=', org_id).execute()
  const { code, stdout } = await runKinora(['admin', 'audit', '--json'], { env: { DATABASE_URL: app.database.url } })
  await db.updateTable('accounts').set({ balance: 0n }).where('org_id', '=', org_id).execute()
  assert.equal(code, 1)
  assert.deepEqual((await findAuditState(db))?.broken, ['I1'], 'the running service stops new video jobs')
  await json('audit')
  assert.deepEqual((await findAuditState(db))?.broken, [], 'and takes them again')
  const { violations, invariants } = JSON.parse(stdout)
  assert.equal(violations, 1)
  const broken = invariants.filter((each: { violations: number }) => each.violations > 0)
  assert.deepEqual([broken.length, broken[0].invariant], [1, 'I1'])
})
