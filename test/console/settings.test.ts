import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { Browser, Page } from 'playwright-core'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { browserOf, PASSWORD } from '../support/http/people.ts'
import { send } from '../support/http/send.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp()
})
after(() => app?.close())

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)</script>',
  "'-alert(1)-'",
  '{{constructor.constructor("alert(1)")()}}',
  'javascript:alert(1)',
]

/** What an app shows now. Source: RFC 6238. */
function codeOf(secret: string): string {
  const bits = [...secret].map((each) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(each).toString(2).padStart(5, '0'))
  const bytes = bits.join('').match(/.{8}/g)!
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const key = Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)))
  const mac = createHmac('sha1', key).update(counter).digest()
  const number = mac.readUInt32BE(mac.at(-1)! & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

/** Codes that were taken may be taken again: as if two minutes had passed. */
const forgetCodes = () => sql`truncate two_factor_codes`.execute(app.database.db)

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL('**/sign-in')
}

async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.keyboard.press('Enter')
}

test('a person turns the second factor on with an app, signs in by a code and by a recovery code once, and turns it off', async () => {
  const person = await newCustomer(app)
  const { page, close, allow, screenshot } = await openConsole(browser, { app, as: person, path: '/settings' })
  allow(/status of 401/)
  const twoFactor = section(page, 'Two-factor authentication')
  await twoFactor.getByRole('button', { name: 'Turn on' }).click()
  await page.getByLabel('Your password').fill('not the password')
  await page.keyboard.press('Enter')
  await page.getByText('Wrong password.').waitFor()
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
  await screenshot('settings-enrol')
  assert.deepEqual(await findBarriers(page), [])
  const secret = (await page.locator('[data-secret]').innerText()).replaceAll(/\s/g, '')
  await page.getByLabel('Authentication code').fill(codeOf(secret))
  await page.keyboard.press('Enter')
  const listed = page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem')
  await listed.first().waitFor()
  const codes = await listed.allInnerTexts()
  assert.equal(codes.length, 10)
  await screenshot('settings-recovery-codes')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByText('Close without saving the codes?').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download codes' }).click()
  assert.equal((await download).suggestedFilename(), 'kinora-recovery-codes.txt')
  await page.getByRole('button', { name: 'Done' }).click()
  await twoFactor.getByText('10 recovery codes remaining').waitFor()
  await screenshot('settings-two-factor-on')

  await forgetCodes()
  await signOut(page)
  await signIn(page, person.email)
  await page.getByLabel('Code', { exact: true }).fill(codeOf(secret))
  await page.keyboard.press('Enter')
  await page.waitForURL('**/videos')

  await signOut(page)
  for (const code of [codes[0]!, codes[0]!, codes[1]!]) {
    if (!page.url().includes('/sign-in')) await signOut(page)
    if (await page.getByLabel('Email').isVisible()) {
      await signIn(page, person.email)
      await page.getByRole('button', { name: 'Use a recovery code' }).click()
    }
    const answer = page.waitForResponse('**/sign-in/two-factor')
    await page.getByLabel('Recovery code').fill(code)
    await page.keyboard.press('Enter')
    if ((await answer).status() === 200) await page.waitForURL('**/videos')
    else await page.getByText('The code is wrong, has expired or was already used.').waitFor()
  }
  await page.goto(`${app.url}/settings`)
  await twoFactor.getByText('8 recovery codes remaining').waitFor()

  await forgetCodes()
  await twoFactor.getByRole('button', { name: 'Turn off' }).click()
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByLabel('Authentication code').fill(codeOf(secret))
  await page.keyboard.press('Enter')
  await twoFactor.getByRole('button', { name: 'Turn on' }).waitFor()
  await close()
})

test('a name is changed everywhere it is shown, and a hostile one is only text', async () => {
  const person = await newCustomer(app)
  const { page, close } = await openConsole(browser, { app, as: person, path: '/settings' })
  page.on('dialog', () => assert.fail('a script of a name ran'))
  const name = section(page, 'Profile').getByLabel('Name')
  for (const hostile of HOSTILE) {
    await name.fill(hostile)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: `Account ${hostile}` }).waitFor()
  }
  await page.goto(`${app.url}/members`)
  await page.getByRole('table').getByText(HOSTILE.at(-1)!).waitFor()
  assert.equal((await send(app, 'GET', '/console/profile', { cookie: person.cookie })).body.name, HOSTILE.at(-1))
  await close()
})

test('changing the password requires the old one, which stops working; the page stays open', async () => {
  const person = await newCustomer(app)
  const { page, close, allow } = await openConsole(browser, { app, as: person, path: '/settings' })
  allow(/status of 401/)
  const form = section(page, 'Password')
  const current = form.getByLabel('Current password')
  const next = form.getByLabel('New password')
  await current.fill('not the password')
  await next.fill('short')
  await page.keyboard.press('Enter')
  await form.getByText('The password needs at least 8 characters.').waitFor()
  await next.fill('quite another horse')
  await page.keyboard.press('Enter')
  await form.getByText('Wrong password.').waitFor()
  await current.fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByText('Password changed.').first().waitFor()
  assert.equal(await next.inputValue(), '')
  await signOut(page)
  await signIn(page, person.email, 'quite another horse')
  await page.waitForURL('**/videos')
  await close()
})

test('a name that is being typed stays when the profile cannot be read again', async () => {
  const person = await newCustomer(app)
  const { page, close, allow } = await openConsole(browser, { app, as: person, path: '/settings' })
  allow(/status of (401|429)/)
  const name = section(page, 'Profile').getByLabel('Name')
  await name.fill('Half a na')
  const refused = page.waitForResponse('**/console/profile')
  await page.route('**/console/profile', (route) => route.fulfill({ status: 429 }))
  await page.route('**/console/sessions?*', async (route) => {
    await refused
    await route.fulfill({ status: 429 })
  })
  const form = section(page, 'Password')
  await form.getByLabel('Current password').fill(PASSWORD)
  await form.getByLabel('New password').fill('quite another horse')
  await page.keyboard.press('Enter')
  await section(page, 'Sessions').getByRole('alert').waitFor()
  assert.equal(await name.inputValue(), 'Half a na')
  await close()
})

test('sessions are ended one by one or all others at once; the terms are accepted on the page', async () => {
  const person = await newCustomer(app, { agreed: false })
  for (let i = 0; i < 3; i++) await browserOf(app, person)
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/settings' })
  const sessions = section(page, 'Sessions')
  const ends = sessions.getByRole('button', { name: 'End', exact: true })
  await sessions.getByText('This browser').waitFor()
  assert.equal(await ends.count(), 3)
  await ends.first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click()
  await page.getByText('Session ended').first().waitFor()
  await sessions.getByRole('listitem').nth(3).waitFor({ state: 'detached' })
  await sessions.getByRole('button', { name: 'End all others' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'End all others' }).click()
  await page.getByText('All other sessions ended').first().waitFor()
  assert.equal((await send(app, 'GET', '/console/sessions', { cookie: person.cookie })).body.data.length, 1)

  const terms = section(page, 'Video terms')
  await terms.getByText('Not accepted yet').waitFor()
  await screenshot('settings-terms')
  await terms.getByRole('button', { name: 'Accept' }).click()
  await terms.getByText('Accepted', { exact: true }).waitFor()
  const accepted = await send(app, 'GET', '/v1/videos/acceptance', { cookie: person.cookie })
  assert.equal(accepted.body.accepted, true)
  await close()
})

test('in both languages and themes, from 360 to 2560 pixels, nothing scrolls sideways and axe-core finds no barrier', async () => {
  const person = await newCustomer(app)
  const looks = firstUnlessCheck([
    { width: 1280, theme: 'light', language: 'en', password: 'Password' },
    { width: 360, theme: 'dark', language: 'ja', password: 'パスワード' },
    { width: 2560, theme: 'dark', language: 'en', password: 'Password' },
    { width: 360, theme: 'light', language: 'en', password: 'Password' },
  ] as const)
  for (const { password, ...look } of looks) {
    const { page, close, screenshot } = await openConsole(browser, {
      app,
      as: person,
      path: '/settings',
      height: process.env.KINORA_SCREENSHOTS ? 2000 : 800,
      ...look,
    })
    await section(page, password).getByRole('button').first().waitFor()
    await page.locator('main .animate-breathe').first().waitFor({ state: 'detached' })
    const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth])
    assert.ok(scroll! <= inner!, `${scroll} wide in ${inner}`)
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`settings-${look.width}-${look.theme}-${look.language}`)
    await close()
  }
})

test('nothing moves when data arrives', async () => {
  const person = await newCustomer(app)
  const { page, close } = await openConsole(browser, { app, as: person, path: '/settings', height: 1200 })
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  await page.route(/\/console\/(profile|two_factor|sessions)|\/v1\/videos\/acceptance/, async (route) => {
    await gate
    await route.continue()
  })
  await page.reload()
  const heights = () =>
    page.locator('main section').evaluateAll((all) => all.map((each) => Math.round(each.clientHeight)))
  await section(page, 'Video terms').waitFor()
  const before = await heights()
  open()
  await page.locator('main .animate-breathe').first().waitFor({ state: 'detached' })
  await section(page, 'Video terms').getByText('Accepted', { exact: true }).waitFor()
  assert.deepEqual(await heights(), before)
  await close()
})
