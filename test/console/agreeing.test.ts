import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp()
})
after(() => app?.close())

test('accepting the terms by keyboard moves the focus to the button that replaces them', async () => {
  const person = await newCustomer(app, { agreed: false })
  const { page, close } = await openConsole(browser, { app, as: person, path: '/videos' })
  await page.getByRole('button', { name: 'Accept terms' }).press('Enter')
  await page
    .getByRole('button', { name: /^Generate/ })
    .and(page.locator(':focus'))
    .waitFor()
  await close()
})

test('the form of an invitation opens with the focus in its first field', async () => {
  const owner = await newCustomer(app)
  const body = { email: 'newcomer@example.com', role: 'member' }
  const made = await send(app, 'POST', '/console/invitations', { cookie: owner.cookie }, body)
  const path = `/invitations/accept#token=${made.body.token}`
  const { page, close } = await openConsole(browser, { app, path })
  await page.getByLabel('Your name').and(page.locator(':focus')).waitFor()
  await close()
})

test('the hint below the prompt is not truncated on a phone', async () => {
  const person = await newCustomer(app)
  const { page, close } = await openConsole(browser, { app, as: person, path: '/videos', width: 390 })
  const hint = page.getByText('Words in <d>…</d> are spoken.')
  await hint.waitFor()
  assert.equal(await hint.evaluate((element) => element.scrollWidth > element.clientWidth), false)
  await close()
})

test('models that come with the service are described in the language of the reader', async () => {
  const builtIn = await startApp({ config: '{}' })
  const person = await newCustomer(builtIn)
  const { page, close } = await openConsole(browser, {
    app: builtIn,
    as: person,
    path: '/videos',
    language: 'ja',
    width: 1600,
  })
  await page.getByText('内蔵のプレビュー用レンダラーです。').first().waitFor()
  assert.equal(await page.getByText(/Embedded/).count(), 0)
  await page.getByRole('link', { name: 'チャット' }).click()
  await page.getByText('内蔵のテスト用モデルです。').first().waitFor()
  assert.equal(await page.getByText(/Embedded/).count(), 0)
  await close()
  await builtIn.close()
})
