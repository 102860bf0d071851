import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { insertEndedJobs } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

const CONFIG = `
plans: { free: { requests_per_minute: 40 } }
video_models: [{ id: instant-1, name: Quick, engine: instant, per_second: "0.010000" }]
`
const COUNT = 60
const WORDS = {
  en: { select: 'Select', all: 'Select all shown', delete: `Delete ${COUNT}`, left: /^Deleting (\d+) more/ },
  ja: { select: '選択', all: '表示中を全選択', delete: `${COUNT} 本を削除`, left: /^残り (\d+) 件を/ },
}

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
})
after(() => app?.close())

for (const [at, language] of (['en', 'ja'] as const).entries())
  test(`clips beyond the rate limit of the plan are deleted a few at a time, as it allows, and what remains is announced (${language})`, async () => {
    const words = WORDS[language]
    const own = await newCustomer(app)
    await insertEndedJobs(app.database, own, COUNT, 0x60001 + at * 0x1000)
    const left = async () =>
      (await app.database.pool.query('select from video_jobs where org_id = $1', [own.org_id])).rowCount!
    const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos', language })
    allow(/status of 429/)
    await page.locator('a[data-job-status]').first().waitFor()
    await page.clock.install()
    let under_way = 0
    let most = 0
    const isDelete = (each: { method(): string }) => each.method() === 'DELETE'
    page.on('request', (each) => {
      if (isDelete(each)) most = Math.max(most, ++under_way)
    })
    page.on('requestfinished', (each) => void (isDelete(each) && under_way--))
    await page.getByRole('button', { name: words.select, exact: true }).click()
    await page.getByRole('button', { name: words.all }).click()
    await page.getByRole('button', { name: words.delete }).click()
    await page.clock.runFor(11_000)
    const note = page.getByText(words.left).first()
    await note.waitFor()
    const [, remaining] = words.left.exec(await note.innerText())!
    assert.ok(Number(remaining) > 0 && Number(remaining) < COUNT, remaining)
    assert.deepEqual(await findBarriers(page), [])
    for (let n = 0; n < 100 && (await left()) > 0; n++) {
      app.clock.advance(5)
      await page.clock.runFor(5000)
    }
    assert.equal(await left(), 0)
    assert.ok(most <= 4, `${most} at once`)
    assert.equal(await page.locator('a[data-job-status]').count(), 0)
    await close()
  })

test('what remains is sent at once when the page is left', async () => {
  const free = await startApp()
  try {
    const own = await newCustomer(free)
    await insertEndedJobs(free.database, own, COUNT, 0x70001)
    const { page, close } = await openConsole(browser, { app: free, as: own, path: '/videos' })
    await page.getByRole('button', { name: 'Select', exact: true }).click()
    await page.getByRole('button', { name: WORDS.en.all }).click()
    await page.getByRole('button', { name: WORDS.en.delete }).click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await page.goto(`${free.url}/docs`)
    while ((await send(free, 'GET', '/v1/videos', own)).body.data.length > 0);
    await close()
  } finally {
    await free.close()
  }
})
