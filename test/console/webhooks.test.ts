import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { newColleague } from '../support/http/app.ts'
import { canceledVideo, deliverDue, startWebhooksApp, unwrap, type WebhooksApp } from '../support/webhooks/app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let webhooks: WebhooksApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  webhooks = await startWebhooksApp()
})
after(() => webhooks?.close())

test('an endpoint is created, tested and watched, its failed delivery sent again, and it is turned off and deleted', async () => {
  const { app, person, receiver } = webhooks
  const { page, allow, close, screenshot } = await openConsole(browser, { app, as: person, path: '/webhooks' })
  allow(/status of 400/)
  await page.getByRole('button', { name: 'New endpoint' }).first().click()
  await page.getByLabel('Name').fill('Night builds')
  await page.getByLabel('URL').fill('http://example.com')
  await page.getByRole('checkbox', { name: 'video.canceled' }).check()
  await screenshot('webhooks-new')
  assert.deepEqual(await findBarriers(page), [])
  await page.getByRole('button', { name: 'Create endpoint' }).click()
  await page.getByText('Enter an https URL of a public address.').waitFor()
  await page.getByLabel('URL').fill(receiver.url)
  await page.getByRole('button', { name: 'Create endpoint' }).click()
  const secret = await page.getByRole('region', { name: 'Signing secret' }).locator('code').innerText()
  assert.match(secret, /^whsec_/)
  await page.getByRole('button', { name: 'Copy secret' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.ok(!(await page.content()).includes(secret), 'the secret is nowhere on the page')

  await page.getByRole('link', { name: 'Night builds' }).click()
  await page.getByRole('button', { name: 'Test' }).click()
  await page.getByRole('button', { name: 'Send test event' }).click()
  await page.getByText('The receiver returned 200.').waitFor()
  await unwrap(receiver.received.at(-1)!, secret)
  await page.getByRole('button', { name: 'Cancel' }).click()

  receiver.answer({ status: 410 })
  const video = await canceledVideo(webhooks)
  await deliverDue(app)
  await page.reload()
  await page.getByText('Disabled because the receiver returned 410 Gone').waitFor()
  await page
    .getByRole('row', { name: new RegExp(video) })
    .getByText('Given up')
    .waitFor()
  await page
    .getByRole('row', { name: new RegExp(video) })
    .getByRole('button', { name: 'Details' })
    .click()
  const attempt = page.getByRole('dialog', { name: 'video.canceled' })
  const request = await attempt.getByRole('region', { name: 'Request of attempt 1' }).innerText()
  assert.match(
    request,
    new RegExp(`^POST ${new URL(receiver.url).origin}[\\s\\S]*webhook-signature: v1,…[\\s\\S]*"id":"${video}"`),
  )
  assert.match(await attempt.getByRole('region', { name: 'Response to attempt 1' }).innerText(), /^410[\s\S]*seen/)
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('webhooks-delivery')
  await page.keyboard.press('Escape')
  await screenshot('webhooks-endpoint')
  assert.deepEqual(await findBarriers(page), [])
  receiver.answer({ status: 200 })
  await page.getByRole('button', { name: 'Enable' }).click()
  await page
    .getByRole('row', { name: new RegExp(video) })
    .getByRole('button', { name: 'Send again' })
    .click()
  await page
    .getByRole('row', { name: new RegExp(video) })
    .getByText('Pending')
    .waitFor()
  await deliverDue(app)
  assert.equal(receiver.received.at(-1)!.event.data.id, video)

  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Send again since…' }).click()
  await page.getByRole('checkbox', { name: 'Only events that have not arrived' }).uncheck()
  await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click()
  await page.getByText('1 event is sent again.', { exact: true }).waitFor()
  assert.equal(await deliverDue(app), 1)

  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No webhook endpoints yet').waitFor()
  await close()
})

test('the page fits a phone in the dark in Japanese, and shows members whom to ask', async () => {
  const { app, person } = webhooks
  const look = { language: 'ja', theme: 'dark', width: 360, path: '/webhooks' } as const
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, ...look })
  await page.getByRole('button', { name: '新しいエンドポイント' }).first().click()
  await page.getByRole('checkbox', { name: 'balance.low' }).check()
  await page.getByLabel('残高の下限').waitFor()
  await screenshot('webhooks-phone')
  assert.deepEqual(await findBarriers(page), [])
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth))
  await close()
  const member = await newColleague(app, person.org_id, { role: 'member' })
  const other = await openConsole(browser, { app, as: member, path: '/webhooks' })
  await other.page.getByText('Only owners and admins manage webhooks').waitFor()
  await other.close()
})
