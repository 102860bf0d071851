import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { PASSWORD, signInAs } from '../support/http/people.ts'
import { turnOnTwoFactor } from '../support/http/two-factor.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app?.close())

/** Ten wrong passwords for somebody, `seconds` ago as the service's clock has it. */
async function failTen(email: string, { seconds_ago = 0 } = {}): Promise<void> {
  for (let n = 0; n < 10; n++) assert.equal((await signInAs(app, email, 'wrong')).status, 401)
  await app.database.pool.query("update login_attempts set address_hash = 'elsewhere ' || id")
  app.clock.advance(seconds_ago)
}

/** The note counts down, and ends by saying that another attempt is possible. */
async function countsDown(page: Page): Promise<void> {
  const alert = page.getByRole('alert')
  await alert.getByText('Too many attempts. Try again in 4 minutes.').waitFor()
  assert.equal(await alert.getByRole('timer').count(), 1)
  assert.deepEqual(await findBarriers(page), [])
  await page.clock.fastForward(61_000)
  await alert.getByText('Try again in 3 minutes.').waitFor()
  await page.clock.fastForward(150_000)
  await alert.getByText(/Try again in \d+ seconds\./).waitFor()
  await page.clock.fastForward(60_000)
  await alert.getByText('You can try again now.').waitFor()
}

const SECONDS_AGO = 600 - 240

test('after too many failed sign-ins the page counts down the true time to wait', async () => {
  const { email } = await newCustomer(app)
  const { page, close, allow } = await openConsole(await openBrowser(), { app, path: '/sign-in' })
  allow(/status of 429/)
  await failTen(email, { seconds_ago: SECONDS_AGO })
  await page.clock.install()
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await countsDown(page)
  await close()
})

test('so do the form that changes the password, and the second step of a sign-in', async () => {
  const person = await newCustomer(app)
  const { page, close, allow } = await openConsole(await openBrowser(), { app, as: person, path: '/settings' })
  allow(/status of 4(29|01)/)
  await page.getByLabel('Current password').fill('wrong')
  await page.getByLabel('New password').fill('long enough for this')
  await failTen(person.email, { seconds_ago: SECONDS_AGO })
  await page.clock.install()
  await page.getByRole('button', { name: 'Change password' }).click()
  await countsDown(page)
  await close()

  const guarded = await newCustomer(app)
  await turnOnTwoFactor(app, guarded)
  const second = await openConsole(await openBrowser(), { app, path: '/sign-in' })
  second.allow(/status of 4(29|01)/)
  await second.page.getByLabel('Email').fill(guarded.email)
  await second.page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await second.page.keyboard.press('Enter')
  await second.page.getByLabel('Code').fill('000000')
  await failTen(guarded.email, { seconds_ago: SECONDS_AGO })
  await second.page.clock.install()
  await second.page.keyboard.press('Enter')
  await countsDown(second.page)
  await second.close()
})

test('whoever forgot the password learns who can replace it, and the command for that', async () => {
  const { page, close, screenshot } = await openConsole(await openBrowser(), { app, path: '/sign-in' })
  await page.getByLabel('Email').fill("o'hara@example.com")
  await page.getByRole('button', { name: 'Forgot password?' }).click()
  const dialog = page.getByRole('dialog', { name: 'Forgotten password' })
  await dialog.getByText('This service sends no email').waitFor()
  const command = await dialog.getByRole('region', { name: 'Command for the operator' }).innerText()
  assert.equal(command.trim(), String.raw`kinora admin user reset-password --user 'o'\''hara@example.com'`)
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('forgot-password')
  await page.keyboard.press('Escape')
  await page.locator('button:focus', { hasText: 'Forgot password?' }).waitFor()
  await close()
})

test('in Japanese it says the same, and times are Japanese', async () => {
  const { email } = await newCustomer(app)
  const options = { app, path: '/sign-in', language: 'ja' } as const
  const { page, close, allow } = await openConsole(await openBrowser(), options)
  allow(/status of 429/)
  await page.getByRole('button', { name: 'パスワードを忘れた場合' }).click()
  await page.getByRole('dialog').getByText('このサービスはメールを送信しません。').waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await page.keyboard.press('Escape')
  await failTen(email, { seconds_ago: SECONDS_AGO })
  await page.getByLabel('メールアドレス').fill(email)
  await page.getByLabel('パスワード', { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByText('4 分後に、もう一度お試しください。').waitFor()
  await close()
})
