import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { grantCredits } from '../../server/billing/ledger.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
let person: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  person = await newCustomer(app)
  for (let i = 0; i < 3; i++) assert.equal((await send(app, 'POST', '/v1/videos', person, videoBody())).status, 200)
  await app.tick()
  for (let i = 0; i < 2; i++) {
    const body = { model: 'sandbox-1', messages: [{ role: 'user', content: 'Say a few words.' }] }
    assert.equal((await send(app, 'POST', '/v1/chat/completions', { cookie: person.cookie }, body)).status, 200)
  }
  assert.equal((await send(app, 'POST', '/v1/videos', person, videoBody({ seconds: 10 }))).status, 200)
})
after(() => app?.close())

/** `-$0.0400001` as units of the ledger. */
const unitsOf = (text: string) => {
  const [whole, fraction = ''] = text.replace(/[^\d.]/g, '').split('.')
  const units = BigInt(whole + fraction.padEnd(8, '0'))
  return text.includes('-') ? -units : units
}
const total = (amounts: string[]) => amounts.map(unitsOf).reduce((sum, each) => sum + each, 0n)

test('the entries of the page add up to the balance above them, to the last digit', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/billing' })
  const figure = async (name: string) => {
    const box = page.locator('dl > div').filter({ has: page.getByText(name, { exact: true }) })
    return unitsOf((await box.locator('[title]').getAttribute('title'))!)
  }
  await page.getByRole('row', { name: /Credit granted/ }).waitFor()
  const amounts = await page.locator('tbody td:last-child').allInnerTexts()
  assert.equal(amounts.length, 6)
  assert.equal(total(amounts), await figure('Balance'))
  assert.equal(await figure('Held'), 10_000_000n)
  assert.equal((await figure('Balance')) - (await figure('Held')), await figure('Available'))
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('billing')
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('Download CSV').click()])
  assert.match(download.suggestedFilename(), /\.csv$/)
  await close()
})

test('a ledger entry names the person and the key, and a withdrawal is not called a grant', async () => {
  const owner = await newCustomer(app)
  await send(app, 'PATCH', '/console/profile', { cookie: owner.cookie }, { name: 'Mika Mori' })
  await send(app, 'POST', '/v1/videos', { key: owner.key }, videoBody())
  await app.tick()
  const grant = { org_id: owner.org_id, amount: -100_000_000n, note: 'Refund', user_id: null, now: app.clock.now() }
  await app.database.db.transaction().execute((tx) => grantCredits(tx, grant))
  const { page, close, screenshot } = await openConsole(browser, { app, as: owner, path: '/billing' })
  const charge = page.getByRole('row', { name: /4-second video/ })
  await charge.getByText('Mika Mori').waitFor()
  await charge.getByText('test', { exact: true }).waitFor()
  await page
    .getByRole('row', { name: /Credit withdrawn/ })
    .getByText('-$1.00')
    .waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('billing-names')
  await close()
})

test('the opening balance of an organization is named in the language of the reader, an operator’s note as it was written', async () => {
  const owner = await newCustomer(app)
  for (const note of ['Opening balance', 'Top-up']) {
    const grant = { org_id: owner.org_id, amount: 100_000_000n, note, user_id: null, now: app.clock.now() }
    await app.database.db.transaction().execute((tx) => grantCredits(tx, grant))
  }
  const { page, close } = await openConsole(browser, { app, as: owner, path: '/billing', language: 'ja' })
  const granted = page.getByRole('row', { name: /クレジットの付与/ })
  await granted.getByText('初期残高', { exact: true }).waitFor()
  await granted.getByText('Top-up', { exact: true }).waitFor()
  assert.equal(await page.getByText('Opening balance').count(), 0)
  await close()
})

test('owners see how to add credit, others whom to ask', async () => {
  const owner = await newCustomer(app, { balance: 0n })
  const member = await newColleague(app, owner.org_id, { role: 'member' })
  const first = await openConsole(browser, { app, as: owner, path: '/billing' })
  await first.page.getByText(`credits grant --org ${owner.org_id} --amount`).waitFor()
  assert.deepEqual(await findBarriers(first.page), [])
  await first.screenshot('billing-add')
  await first.close()
  const second = await openConsole(browser, { app, as: member, path: '/billing' })
  await second.page.getByText('Ask an owner').waitFor()
  assert.equal(await second.page.getByText('credits grant').count(), 0)
  await second.close()
})

test('usage by model, key, person and day adds up to what the ledger charged, to the last digit', async () => {
  const { body } = await send(app, 'GET', '/console/ledger', { cookie: person.cookie })
  const charges = body.data.filter(({ kind }: { kind: string }) => kind === 'charge')
  const charged = -total(charges.map(({ amount }: { amount: string }) => amount))
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/usage' })
  for (const by of ['Model', 'Key', 'Member', 'Day']) {
    await page.getByRole('radio', { name: by, exact: true }).click()
    const table = page.getByRole('table', { name: `Totals by ${by}` })
    await table.locator('tbody tr[class] td:last-child span[title]').first().waitFor()
    assert.equal(total(await table.locator('tbody td:last-child').allInnerTexts()), charged, by)
    await page.locator('[data-bar]').first().waitFor()
  }
  await page.getByRole('radio', { name: 'Model', exact: true }).click()
  await page
    .getByRole('cell', { name: 'sandbox-1' })
    .or(page.getByRole('cell', { name: 'Sandbox' }))
    .first()
    .waitFor()
  await page.getByText(/^[\d.]+ kB of 100 GB$/).waitFor()
  await page.getByText(/^Files 0 bytes, videos [\d.]+ kB, responses 0 bytes, records [\d.]+ (kB|bytes)$/).waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('usage')
  await close()
})

test('on a narrow screen, in the dark and in Japanese both pages stay readable', async () => {
  const look = { language: 'ja', theme: 'dark', width: 360 } as const
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/usage', ...look })
  await page.locator('[data-bar]').first().waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('usage-ja-dark-360')
  await page.goto(`${app.url}/billing`)
  await page.getByText('クレジットの付与').first().waitFor()
  assert.deepEqual(await findBarriers(page), [])
  const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth])
  assert.ok(scroll! <= inner!)
  await screenshot('billing-ja-dark-360')
  await close()
})

test('a period without charges says so', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/usage' })
  await page.getByRole('radio', { name: 'Custom' }).click()
  await page.getByLabel('From').fill('2020-01-01')
  await page.getByLabel('To', { exact: true }).fill('2020-01-31')
  await page.getByRole('heading', { name: 'No charges in this period' }).waitFor()
  await page.getByRole('heading', { name: 'Storage used' }).waitFor()
  await close()
})
