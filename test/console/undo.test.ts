import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { storedFile, submit } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp()
})
after(() => app?.close())

const NAMES = {
  en: { more: 'Actions for', delete: 'Delete', undo: 'Undo' },
  ja: { more: 'の操作', delete: '削除', undo: '元に戻す' },
}

/** The page of files with so many of them, and a clock that can be moved. */
async function openFiles(count: number, language: 'en' | 'ja' = 'en') {
  const person = await newCustomer(app)
  for (let n = 0; n < count; n += 1) await storedFile(app, person)
  const visit = await openConsole(browser, { app, as: person, path: '/files', language })
  const { page } = visit
  await page.getByRole('table').getByRole('row').nth(count).waitFor()
  await page.clock.install()
  const rows = page.getByRole('table').getByRole('row').filter({ hasText: 'file-' })
  const undo = page.getByRole('button', { name: NAMES[language].undo })
  const sent: string[] = []
  page.on('request', (request) => request.method() === 'DELETE' && sent.push(request.url()))
  const removeFirst = async () => {
    const before = await rows.count()
    await rows.first().getByRole('button', { name: NAMES[language].more }).click()
    await page.getByRole('menuitem', { name: NAMES[language].delete }).click()
    await rows.nth(before - 1).waitFor({ state: 'detached' })
  }
  return { ...visit, person, rows, undo, sent, removeFirst }
}

const filesOf = async ({ key }: TestPerson): Promise<number> =>
  (await send(app, 'GET', '/v1/files', { key })).body.data.length

for (const language of ['en', 'ja'] as const) {
  test(`${language}: a deleted file leaves the list at once, is back after an undo by keyboard, and is never deleted then`, async () => {
    const { page, close, person, rows, undo, sent, removeFirst, screenshot } = await openFiles(2, language)
    await removeFirst()
    await page.locator('[data-page-title]:focus').waitFor()
    while (!(await page.evaluate(() => document.activeElement?.closest('[data-toasts]'))))
      await page.keyboard.press('F8')
    for (let n = 0; n < 3 && !(await undo.evaluate((button) => button === document.activeElement)); n += 1)
      await page.keyboard.press('Tab')
    // Whoever has reached the button has time to press it.
    await page.clock.runFor(60_000)
    assert.match(await undo.innerText(), /\d$/)
    await screenshot(`undo-${language}`)
    assert.deepEqual(await findBarriers(page), [])
    await page.keyboard.press('Enter')
    await rows.nth(1).waitFor()
    await undo.waitFor({ state: 'detached' })
    await page.clock.runFor(60_000)
    assert.deepEqual(sent, [])
    assert.equal(await filesOf(person), 2)
    await close()
  })
}

test('Control+Z outside of a text field undoes the last deletion, and a toast that Escape closes does not keep later ones', async () => {
  const { page, close, rows, undo, sent, removeFirst } = await openFiles(2)
  const notes = page.getByRole('region', { name: /^Notifications/ }).getByRole('listitem')
  const title = page.locator('[data-page-title]:focus')
  await removeFirst()
  await title.waitFor()
  await page.keyboard.press('Control+z')
  await rows.nth(1).waitFor()
  await notes.filter({ hasText: 'Restored.' }).waitFor()
  assert.equal(await undo.count(), 0)
  await page.keyboard.press('F8')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Escape')
  await notes.first().waitFor({ state: 'detached' })
  await title.waitFor()
  await removeFirst()
  await page.keyboard.press('Control+z')
  await notes.filter({ hasText: 'Restored.' }).waitFor()
  await page.clock.runFor(6000)
  await notes.first().waitFor({ state: 'detached' })
  assert.deepEqual(sent, [])
  await close()
})

test('several in a row are each deleted when their time is over, and each can be undone', async () => {
  const { page, close, person, rows, undo, sent, removeFirst } = await openFiles(3)
  for (let n = 0; n < 3; n += 1) await removeFirst()
  await undo.last().click()
  // The time of a toast that is under the pointer stands still.
  await page.mouse.move(0, 0)
  await rows.first().waitFor()
  await page.clock.runFor(10_000)
  await undo.first().waitFor({ state: 'detached' })
  while ((await filesOf(person)) > 1);
  assert.equal(sent.length, 2)
  assert.equal(await rows.count(), 1)
  await close()
})

test('what waits is deleted when the page is left, also by signing out', async () => {
  const { page, close, person, undo, removeFirst, allow } = await openFiles(3)
  await removeFirst()
  await page.goto(`${app.url}/docs`)
  while ((await filesOf(person)) !== 2);
  await page.goto(`${app.url}/files`)
  await page.getByRole('button', { name: 'Actions for' }).first().waitFor()
  await removeFirst()
  await undo.waitFor()
  allow(/status of 401/)
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL('**/sign-in')
  assert.equal(await filesOf(person), 1)
  await close()
})

test('a deletion that fails brings the file back and says why', async () => {
  const { page, close, person, rows, removeFirst, allow } = await openFiles(1)
  allow(/status of 503/)
  const body = JSON.stringify({
    error: { code: 'server_is_overloaded', type: 'server_error', param: null, message: '' },
  })
  await page.route('**/v1/files/*', (route) =>
    route.request().method() === 'DELETE'
      ? route.fulfill({ status: 503, contentType: 'application/json', body })
      : route.continue(),
  )
  await removeFirst()
  await page.clock.runFor(10_000)
  await rows.first().waitFor()
  await page.getByText('Not deleted. The service is busy or restarting. Try again shortly.').first().waitFor()
  assert.equal(await filesOf(person), 1)
  await close()
})

test('owners set that members delete only their own, and members see whose a file or video is and why they cannot delete it', async () => {
  const owner = await newCustomer(app)
  const member = await newColleague(app, owner.org_id)
  await storedFile(app, owner)
  const video = (await submit(app, owner)).body.id
  await send(app, 'POST', `/v1/videos/${video}/cancel`, { key: owner.key })
  const managing = await openConsole(browser, { app, as: owner, path: '/members' })
  await managing.page.getByLabel('What members may delete').selectOption('own')
  const activity = managing.page.getByRole('table', { name: 'Activity' })
  await activity.getByRole('row').filter({ hasText: 'Members may delete only their own' }).waitFor()
  assert.deepEqual(await findBarriers(managing.page), [])
  await managing.close()

  const { page, close } = await openConsole(browser, { app, as: member, path: '/files' })
  const row = page.getByRole('row').filter({ hasText: 'file-' })
  await row.getByRole('cell', { name: 'owner', exact: true }).waitFor()
  await row.getByRole('button', { name: 'Actions for' }).click()
  await page.getByRole('menuitem', { name: /^Delete.*Only its creator/, disabled: true }).waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await page.goto(`${app.url}/videos/${video}`)
  await page.getByText('Created by').waitFor()
  await page
    .getByRole('definition')
    .filter({ hasText: /^owner$/ })
    .waitFor()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: /^Delete.*Only its creator/, disabled: true }).waitFor()
  await close()
})

test('a deletion is in the activity with what was deleted, by whom, in both languages', async () => {
  const owner = await newCustomer(app)
  const id = await storedFile(app, owner)
  await send(app, 'DELETE', `/v1/files/${id}`, { key: owner.key })
  for (const [language, table, text] of [
    ['en', 'Activity', 'File deleted'],
    ['ja', '操作履歴', 'ファイルを削除'],
  ] as const) {
    const { page, close } = await openConsole(browser, { app, as: owner, path: '/members', language })
    const row = page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text })
    await row.getByText(id).waitFor()
    await row.getByText(owner.email).waitFor()
    await close()
  }
})
