import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Locator } from 'playwright-core'
import { codeOf } from '../support/data/totp.ts'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { PASSWORD } from '../support/http/people.ts'
import { send } from '../support/http/send.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp()
})
after(() => app?.close())

const hasFocus = (control: Locator) => control.and(control.page().locator(':focus')).waitFor()

test('a dialog that shows a new key or an invitation link opens with the focus on its copy button', async () => {
  const person = await newCustomer(app)
  const { page, close } = await openConsole(browser, { app, as: person, path: '/keys' })
  await page.getByRole('button', { name: 'New key' }).first().click()
  await page.getByLabel('Name').fill('Night builds')
  await page.keyboard.press('Enter')
  await hasFocus(page.getByRole('button', { name: 'Copy key' }))
  await page.goto(`${app.url}/members`)
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel('Email').fill('third@example.com')
  await page.keyboard.press('Enter')
  await hasFocus(page.getByRole('button', { name: 'Copy link' }))
  await close()
})

test('recovery codes open with the focus on their copy button; turning two-factor authentication off leaves it on the button that turns it on', async () => {
  const person = await newCustomer(app)
  const { page, close, allow } = await openConsole(browser, { app, as: person, path: '/settings' })
  allow(/status of 401/)
  const section = page.getByRole('region', { name: 'Two-factor authentication', exact: true })
  await section.getByRole('button', { name: 'Turn on' }).click()
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  const secret = (await page.locator('[data-secret]').innerText()).replaceAll(/\s/g, '')
  await page.getByLabel('Authentication code').fill(codeOf(secret))
  await page.keyboard.press('Enter')
  const copy = page.getByRole('button', { name: 'Copy codes' })
  await hasFocus(copy)
  const [code] = await page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allInnerTexts()
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download codes' }).click()
  await download
  await page.getByRole('button', { name: 'Done' }).click()
  await section.getByRole('button', { name: 'Turn off' }).click()
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Use a recovery code' }).click()
  await page.getByLabel('Recovery code').fill(code!)
  await page.keyboard.press('Enter')
  await hasFocus(section.getByRole('button', { name: 'Turn on' }))
  assert.equal(await page.getByRole('dialog').count(), 0)
  await close()
})

test('after a session has ended the sign-in page opens with the focus on the email field', async () => {
  const person = await newCustomer(app)
  const { page, close, allow } = await openConsole(browser, { app, as: person, path: '/files' })
  allow(/status of 401/)
  await send(app, 'POST', '/console/auth/sign-out', { cookie: person.cookie })
  await page.waitForURL('**/sign-in?return=*')
  await page.getByText('Your session has ended.').waitFor()
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('name')), 'email')
  await close()
})

test('the terms leave the aspect ratio in view on a small laptop, in both languages', async () => {
  const person = await newCustomer(app, { agreed: false })
  const looks = firstUnlessCheck([
    { language: 'en', terms: 'Accept terms', ratio: 'Aspect ratio' },
    { language: 'ja', terms: '同意する', ratio: 'アスペクト比' },
  ] as const)
  for (const { language, terms, ratio } of looks) {
    const { page, close } = await openConsole(browser, { app, as: person, path: '/videos', language, height: 800 })
    await page.getByRole('button', { name: terms }).waitFor()
    const group = page.getByRole('radiogroup', { name: ratio })
    await group.waitFor()
    await page.locator('section .animate-breathe').first().waitFor({ state: 'detached' })
    const cut = await group.evaluate((element) => {
      const scrolled = element.closest('.overflow-y-auto')!
      return element.getBoundingClientRect().bottom - scrolled.getBoundingClientRect().bottom
    })
    assert.ok(cut <= 0, `${language}: ${cut} pixels below the fold`)
    await close()
  }
})
