import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { codeOf } from '../support/data/totp.ts'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { PASSWORD } from '../support/http/people.ts'
import { turnOnTwoFactor } from '../support/http/two-factor.ts'
import { openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp()
})
after(() => app?.close())

async function guarded() {
  const person = await newCustomer(app)
  return { ...person, ...(await turnOnTwoFactor(app, person)) }
}

async function atSecondStep() {
  const person = await guarded()
  const visit = await openConsole(browser, { app, path: '/sign-in?return=/keys' })
  visit.allow(/status of 401/)
  await visit.page.getByLabel('Email').fill(person.email)
  await visit.page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await visit.page.keyboard.press('Enter')
  await visit.page.getByLabel('Code', { exact: true }).waitFor()
  return { person, ...visit }
}

test('typing after a refused code replaces it, and spaces in a code are accepted', async () => {
  const { person, page, close } = await atSecondStep()
  await page.keyboard.type('000000')
  await page.keyboard.press('Enter')
  await page.getByText('The code is wrong, has expired or was already used.').waitFor()
  const next = codeOf(person.secret, 1)
  await page.keyboard.type(`${next.slice(0, 3)} ${next.slice(3)}`)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/keys')
  await close()
})

test('typing after a refused code replaces it in the settings too', async () => {
  const person = await newCustomer(app)
  const { page, close, allow } = await openConsole(browser, { app, as: person, path: '/settings' })
  allow(/status of 401/)
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  const secret = (await page.locator('[data-secret]').innerText()).replaceAll(/\s/g, '')
  const code = page.getByLabel('Authentication code')
  await code.fill('000000')
  await page.keyboard.press('Enter')
  await page.getByText('The code is wrong or was already used.').waitFor()
  await page.keyboard.type(codeOf(secret))
  await page.keyboard.press('Enter')
  await page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').nth(9).waitFor()
  await close()
})

test('a recovery code in the wrong case is refused, and the field says that case matters', async () => {
  const { person, page, close } = await atSecondStep()
  await page.getByRole('button', { name: 'Use a recovery code' }).click()
  await page.getByText('Upper and lower case matter.').waitFor()
  const code = person.recovery_codes.find((each) => /[A-Z]/.test(each))!
  await page.getByLabel('Recovery code').fill(code.toLowerCase())
  await page.keyboard.press('Enter')
  await page.getByText('The code is wrong, has expired or was already used.').waitFor()
  await page.getByText('Upper and lower case matter.').waitFor()
  await page.getByLabel('Recovery code').fill(code)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/keys')
  await close()
})
