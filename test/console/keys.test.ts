import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
let person: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app?.close())

test('a double click creates one key', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/keys' })
  const calls: string[] = []
  page.on('request', (each) => calls.push(`${each.method()} ${new URL(each.url()).pathname}`))
  await page.getByRole('button', { name: 'New key' }).first().click()
  await page.getByLabel('Name').fill('Made in haste')
  await page.getByRole('button', { name: 'Create key' }).dblclick()
  await page.getByRole('button', { name: 'Copy key' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('row', { name: /Made in haste/ }).waitFor()
  assert.equal(calls.filter((each) => each === 'POST /console/api_keys').length, 1)
  await close()
})

test('an invalid name is reported at its field, and markup in a name is shown as text', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/keys' })
  const name = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
  page.on('dialog', () => assert.fail('a script ran'))
  await page.getByRole('button', { name: 'New key' }).first().click()
  const submit = page.getByRole('button', { name: 'Create key' })
  assert.equal(await submit.isDisabled(), true)
  await page.getByLabel('Name').fill(name)
  await submit.click()
  await page.getByRole('heading', { name: `“${name}” created` }).waitFor()
  await page.getByRole('button', { name: 'Copy key' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('cell', { name }).waitFor()
  await close()
})

test('the dialog of somebody who has as many keys as one can have says so, and what to do', async () => {
  const other = await newCustomer(app)
  const make = () => send(app, 'POST', '/console/api_keys', { cookie: other.cookie }, { name: 'x' })
  await Promise.all(Array.from({ length: 49 }, make))
  const { page, close, allow } = await openConsole(browser, { app, as: other, path: '/keys' })
  allow(/status of 409/)
  await page.getByRole('button', { name: 'New key' }).first().click()
  await page.getByLabel('Name').fill('One more')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('alert').getByText('Revoke one you no longer use first.').waitFor()
  await close()
})

test('without a key the page says what keys are for, in Japanese too', async () => {
  const other = await newCustomer(app)
  const { page, close, screenshot } = await openConsole(browser, {
    app,
    as: other,
    path: '/keys',
    language: 'ja',
    theme: 'dark',
    width: 360,
  })
  await page.getByRole('row').getByText('kin_...').first().waitFor()
  await page.getByRole('button', { name: '無効にする' }).click()
  await page.getByRole('dialog').getByRole('button', { name: '無効にする' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'API キーはまだありません' }).waitFor()
  await screenshot('keys-empty-ja-dark-360')
  assert.deepEqual(await findBarriers(page), [])
  await close()
})
