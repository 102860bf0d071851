import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Locator } from 'playwright-core'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { drawVariants, submit } from '../support/http/videos-app.ts'
import { openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
let person: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app?.close())

/** Waits until it has the focus: a dialog gives it back once it is gone. */
const hasFocus = (control: Locator) => control.and(control.page().locator(':focus')).waitFor()

test('focus goes back to the button that opened a dialog, however the dialog is left', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/keys' })
  const opener = page.getByRole('button', { name: 'New key' }).first()
  const dialog = page.getByRole('dialog')
  for (const leave of [
    () => page.keyboard.press('Escape'),
    () => dialog.getByRole('button', { name: 'Cancel' }).click(),
    () => dialog.getByRole('button', { name: 'Close' }).click(),
  ]) {
    await opener.click()
    await dialog.waitFor()
    await leave()
    await dialog.waitFor({ state: 'detached' })
    await hasFocus(opener)
  }
  await close()
})

test('focus goes back to the first opener after one dialog followed another', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/members' })
  const opener = page.getByRole('button', { name: 'Invite' })
  await opener.click()
  await page.getByLabel('Email').fill('third@example.com')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Invitation link' }).waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await hasFocus(opener)
  await close()
})

test('focus goes back to the button of the menu whose entry opened a dialog', async () => {
  const { body } = await submit(app, person)
  await app.tick()
  await drawVariants(app)
  const { page, close } = await openConsole(browser, { app, as: person, path: `/videos/${body.id}` })
  const opener = page.getByRole('button', { name: 'More actions' })
  await opener.click()
  await page.getByRole('menuitem', { name: 'View code' }).click()
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await hasFocus(opener)
  await close()
})

test('a dialog gives the focus to its first control, not to the button that closes it', async () => {
  const { body } = await submit(app, person)
  const { page, close } = await openConsole(browser, { app, as: person, path: `/videos/${body.id}` })
  await page.getByRole('button', { name: 'Cancel video' }).click()
  await hasFocus(page.getByRole('dialog').getByRole('button', { name: 'Keep rendering' }))
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'View code' }).click()
  await page.getByRole('dialog').waitFor()
  await page.locator('[data-dialog-part] :focus').waitFor()
  await close()
})

test('focus goes to the page title when the button is removed with its row', async () => {
  const colleague = await newColleague(app, person.org_id, { role: 'member' })
  const { page, close } = await openConsole(browser, { app, as: person, path: '/members' })
  const row = page.getByRole('row').filter({ hasText: colleague.email })
  await row.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await row.waitFor({ state: 'detached' })
  await hasFocus(page.locator('[data-page-title]'))
  assert.equal(await page.getByRole('dialog').count(), 0)
  await close()
})
