import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { startLiveJobs } from '../support/browser/live-jobs.ts'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp()
})
after(() => app?.close())

test('a page says while the service does not answer, and shows by itself what it could not load meanwhile', async () => {
  const way = await startLiveJobs(app.url)
  const as = await newCustomer(app)
  const { page, close, allow } = await openConsole(browser, { app: way, as, path: '/videos' })
  allow(
    /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|dynamically imported module|network_failed/,
  )
  const note = page.getByRole('main').getByText('The service is not responding.')
  await page.getByText('Describe your first video').waitFor()
  await way.close()
  await note.waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await page.getByRole('navigation').getByRole('link', { name: 'Webhooks' }).click()
  await page.getByRole('main').getByRole('button', { name: 'Try again' }).waitFor()
  const again = await startLiveJobs(app.url, Number(new URL(way.url).port))
  await page.getByRole('heading', { name: 'No webhook endpoints yet' }).waitFor()
  await note.waitFor({ state: 'detached' })
  await close()
  await again.close()
})
