import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
let owner: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  owner = await newCustomer(app)
})
after(() => app?.close())

test('an owner changes roles, removes members, and cannot leave an organization without an owner', async () => {
  const boss = await newCustomer(app)
  const colleague = await newColleague(app, boss.org_id, { role: 'member' })
  const { page, close } = await openConsole(browser, { app, as: boss, path: '/members' })
  const own = page.getByRole('row').filter({ hasText: boss.email })
  assert.equal(await own.getByRole('button', { name: 'Remove' }).isDisabled(), true)
  const row = page.getByRole('row').filter({ hasText: colleague.email })
  await row.getByRole('combobox').selectOption('admin')
  await page
    .getByText(/role is now Admin/)
    .first()
    .waitFor()
  const { cookie } = colleague
  const { body } = await send(app, 'GET', '/console/session', { cookie })
  assert.equal(body.organization.role, 'admin')
  await row.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await row.waitFor({ state: 'detached' })
  assert.equal((await send(app, 'GET', '/v1/models', { cookie })).status, 401)
  await close()
})

test('an owner who gives up the role no longer sees what only owners and admins may', async () => {
  const boss = await newCustomer(app)
  await newColleague(app, boss.org_id, { role: 'owner' })
  const { page, close, allow } = await openConsole(browser, { app, as: boss, path: '/members' })
  allow(/status of 403/)
  const own = page.getByRole('row').filter({ hasText: boss.email })
  await own.getByRole('combobox').selectOption('member')
  await page.getByRole('heading', { name: 'Only owners and admins can manage members' }).waitFor()
  await close()
})

test('an invalid address is refused at its field, and an invitation can be withdrawn', async () => {
  const { page, close, allow } = await openConsole(browser, { app, as: owner, path: '/members' })
  allow(/status of 400/)
  page.on('dialog', () => assert.fail('a script ran'))
  await page.getByRole('button', { name: 'Invite' }).click()
  const email = page.getByLabel('Email')
  await email.fill('"><img src=x onerror=alert(1)>@example.com')
  await page.getByRole('button', { name: 'Create invitation' }).click()
  await page.getByRole('alert').waitFor()
  assert.equal(await email.getAttribute('aria-invalid'), 'true')
  await email.fill('third@example.com')
  await page.getByRole('button', { name: 'Create invitation' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  const row = page.getByRole('row').filter({ hasText: 'third@example.com' })
  await row.getByRole('button', { name: 'Withdraw' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await row.waitFor({ state: 'detached' })
  await close()
})

test('errors of an invitation are shown in the language of the reader, at their field', async () => {
  const { page, close, allow } = await openConsole(browser, { app, as: owner, path: '/members', language: 'ja' })
  allow(/status of 4\d\d/)
  await page.getByRole('button', { name: '招待', exact: true }).click()
  const send = () => page.getByRole('button', { name: '招待を作成' }).click()
  for (const [email, text] of [
    ['no address', '正しいメールアドレスを入力してください。'],
    [owner.email, 'この人はすでにメンバーです。'],
  ] as const) {
    await page.getByLabel('メールアドレス').fill(email)
    await send()
    await page.getByRole('alert').getByText(text).waitFor()
  }
  assert.doesNotMatch(await page.getByRole('dialog').innerText(), /Invalid|member/)
  await close()
})

test('a member sees who manages members instead of an error, and is not led there', async () => {
  const colleague = await newColleague(app, owner.org_id, { role: 'member' })
  const { page, close } = await openConsole(browser, { app, as: colleague, path: '/members', language: 'ja' })
  await page.getByRole('heading', { name: 'メンバーを管理できるのはオーナーと管理者です' }).waitFor()
  assert.equal(
    await page
      .getByRole('navigation')
      .getByRole('link', { name: /Webhook|メンバー/ })
      .count(),
    0,
  )
  assert.deepEqual(await findBarriers(page), [])
  await close()
})

test('owners see who changed what, and members do not', async () => {
  const boss = await newCustomer(app)
  const colleague = await newColleague(app, boss.org_id, { role: 'member' })
  await send(app, 'PATCH', `/console/members/${colleague.user_id}`, { cookie: boss.cookie }, { role: 'admin' })
  const { page, close, screenshot } = await openConsole(browser, { app, as: boss, path: '/members' })
  const row = page.getByRole('table', { name: 'Activity' }).getByRole('row').filter({ hasText: 'Role changed' })
  await row.getByText('member → admin').waitFor()
  await row.getByText(boss.email).waitFor()
  await screenshot('members-activity')
  assert.deepEqual(await findBarriers(page), [])
  await close()

  const plain = await newColleague(app, boss.org_id, { role: 'member' })
  const other = await openConsole(browser, { app, as: plain, path: '/members' })
  await other.page.getByText('Only owners and admins can manage members').waitFor()
  assert.equal(await other.page.getByRole('table', { name: 'Activity' }).count(), 0)
  await other.close()
})
