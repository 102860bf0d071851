import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import type { Browser } from 'playwright-core'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { PASSWORD } from '../support/http/people.ts'
import { send } from '../support/http/send.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'
import { card, generate, prompt } from './video-studio.ts'

// What people come to the console for, in one language and theme. The other files here look at each page closely, in `npm run check`.

let app: TestApp
let browser: Browser
let owner: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  owner = await newCustomer(app)
})
after(() => app?.close())

test('a newcomer signs in, accepts the terms, makes a clip for its exact quote, finds it again, and sees it in the ledger', async () => {
  const person = await newCustomer(app, { agreed: false })
  const { page, close, screenshot } = await openConsole(browser, { app, path: '/videos' })
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await prompt(page).fill('A paper boat')
  await page.getByText('Accept the video terms first.').waitFor()
  await page.getByRole('button', { name: 'Accept terms' }).click()
  await page.getByLabel('Length in seconds').fill('5')
  await page.locator('[data-cost]', { hasText: '$0.05' }).waitFor()
  await page.getByText('$100.00 available, $99.95 after this').waitFor()
  await generate(page).click()
  await card(page, 'A paper boat').filter({ hasText: 'Checking' }).waitFor()
  await app.tick()
  await card(page, 'A paper boat').filter({ hasText: 'Completed' }).waitFor()
  await page.getByRole('complementary').getByText('$99.95').waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('journey-clip')
  await page.reload()
  await card(page, 'A paper boat').click()
  await page.getByText('$0.05 charged').waitFor()
  await page.locator('video').waitFor()
  await page.getByRole('link', { name: 'Billing' }).click()
  await page
    .getByRole('row', { name: /5-second video/ })
    .getByText('-$0.05')
    .waitFor()
  await close()
})

test('a chat shows what the ledger charged for it, to the last digit', async () => {
  const answering = await startApp({ background: true })
  const person = await newCustomer(answering)
  const { page, close } = await openConsole(browser, { app: answering, as: person, path: '/chat' })
  const box = page.getByRole('textbox', { name: 'Your message', exact: true })
  await box.fill('sandbox:echo one two three')
  await box.press('Enter')
  await page.locator('article').getByText('one two three').last().waitFor()
  const cost = await page.locator('[data-cost]').first().getAttribute('data-cost')
  const { body } = await send(answering, 'GET', '/console/ledger', { cookie: person.cookie })
  assert.equal(body.data[0].amount, `-${cost}`)
  await close()
  await answering.close()
})

test('a key is created, shown once, works with the official client, and is refused after it is revoked', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: owner, path: '/keys' })
  await page.getByRole('button', { name: 'New key' }).first().click()
  await page.getByLabel('Name').fill('Night builds')
  await page.keyboard.press('Enter')
  const secret = await page.getByRole('region', { name: 'Your new key' }).locator('code').innerText()
  assert.match(secret, /^kin_[0-9A-Za-z]{36}$/)
  await screenshot('keys-new')
  assert.deepEqual(await findBarriers(page), [])

  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Close without copying' }).waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Copy key' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.ok(!(await page.content()).includes(secret), 'the key is nowhere on the page')

  const client = new OpenAI({ apiKey: secret, baseURL: `${app.url}/v1`, maxRetries: 0 })
  const { data } = await client.models.list()
  assert.ok(data.length > 0)

  const row = page.getByRole('row', { name: /Night builds/ })
  await row.getByText(`kin_...${secret.slice(-4)}`).waitFor()
  await row.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await row.waitFor({ state: 'detached' })
  await assert.rejects(client.models.list(), (error: { status?: number }) => error.status === 401)
  await close()
})

test('an invited person joins by the link, and must agree to the terms for themselves', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: owner, path: '/members' })
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel('Email').fill('second@example.com')
  await page.getByLabel('Role', { exact: true }).selectOption('admin')
  await page.getByRole('button', { name: 'Create invitation' }).click()
  const link = await page.getByRole('region', { name: 'Invitation link' }).locator('code').innerText()
  await screenshot('members-link')
  assert.deepEqual(await findBarriers(page), [])
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('cell', { name: 'second@example.com' }).waitFor()

  const guest = await openConsole(browser, { app, path: '/sign-in' })
  await guest.page.goto(link)
  await guest.page.getByLabel('Your name').fill('Second Person')
  await guest.page.getByLabel('Password', { exact: true }).fill('a good long password')
  await guest.page.getByRole('button', { name: 'Join' }).click()
  await guest.page.waitForURL('**/videos')
  const [cookie] = await guest.context.cookies()
  const browserOfGuest = { cookie: `${cookie!.name}=${cookie!.value}` }
  const { body } = await send(app, 'GET', '/v1/videos/acceptance', browserOfGuest)
  assert.equal(body.accepted, false)
  assert.equal(body.organization_id, owner.org_id)
  await guest.close()

  await page.reload()
  await page.getByRole('cell', { name: /Second Person/ }).waitFor()
  await page.getByText('No pending invitations.').waitFor()
  await screenshot('members')
  await close()
})
