import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import errors from '../../console/text/en/errors.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { jobsOf, submit, tickUntil } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'
import { generate, prompt, waitingRows as rows, wait } from './video-studio.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 1 } }
video_models:
  - { id: instant-1, name: Quick, engine: instant, per_second: "0.010000" }
`

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
})
after(() => app?.close())

const job = (page: Page, text: string) => page.locator('[data-job-status]', { hasText: text }).last()
/** The prompts of the jobs of an organization, the first one first. */
const made = async (own: TestPerson) =>
  (await send(app, 'GET', '/v1/videos?order=asc', own)).body.data.map((each: { prompt: string }) => each.prompt)

test('what finds no slot waits in the browser, over a reload, and goes out by itself in the order of the list', async () => {
  const own = await newCustomer(app)
  await submit(app, own, { prompt: 'Running' })
  const { page, close, allow, screenshot } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 429/)
  for (const text of ['Second', 'Third', 'Fourth']) await wait(page, text)
  assert.equal(await rows(page).first().getByText('$0.08').count(), 1)
  await page.getByRole('button', { name: 'Send first: Third' }).click()
  await rows(page).first().filter({ hasText: 'Third' }).waitFor()
  await page.getByRole('button', { name: 'Remove from the list: Fourth' }).click()
  await rows(page).filter({ hasText: 'Fourth' }).waitFor({ state: 'detached' })
  await screenshot('videos-waiting')
  assert.deepEqual(await findBarriers(page), [])
  await page.reload()
  await rows(page).nth(1).waitFor()
  const sent = page.waitForResponse(
    (each) => each.status() === 200 && (each.request().postData() ?? '').includes('"Second"'),
  )
  await tickUntil(app, job(page, 'Third').waitFor())
  await page.getByRole('link', { name: 'Usage' }).click()
  await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor()
  await tickUntil(app, sent)
  assert.deepEqual(await made(own), ['Running', 'Third', 'Second'])
  await page.goBack()
  await job(page, 'Second').waitFor()
  assert.equal(await rows(page).count(), 0)
  await close()
})

test('two tabs send each request once', async () => {
  const own = await newCustomer(app)
  await submit(app, own, { prompt: 'Running' })
  const { page, context, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 429/)
  const accepted: string[] = []
  context.on('response', (each) => {
    const { pathname } = new URL(each.url())
    if (pathname === '/v1/videos' && each.request().method() === 'POST' && each.status() === 200)
      accepted.push(each.headers()['idempotent-replayed'] ?? 'made')
  })
  for (const text of ['One', 'Two', 'Three']) await wait(page, text)
  const other = await context.newPage()
  await other.goto(`${app.url}/videos`)
  await rows(other).nth(2).waitFor()
  for (const text of ['One', 'Two', 'Three']) {
    const shown = Promise.all([page, other].map((each) => job(each, text).waitFor()))
    await tickUntil(app, shown)
  }
  await Promise.all([page, other].map((each) => rows(each).first().waitFor({ state: 'detached' })))
  assert.deepEqual(await made(own), ['Running', 'One', 'Two', 'Three'])
  assert.deepEqual(accepted, ['made', 'made', 'made'])
  await close()
})

test('what is refused later says why and stays, until it is sent again or removed', async () => {
  const own = await newCustomer(app, { balance: 12_000_000n })
  await submit(app, own, { prompt: 'Running', seconds: 5 })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of (429|402)/)
  await page.getByLabel('Length in seconds').fill('4')
  await wait(page, 'Affordable')
  await wait(page, 'Another')
  await tickUntil(app, job(page, 'Affordable').waitFor())
  await tickUntil(app, rows(page).filter({ hasText: 'Not sent. Your balance does not cover this.' }).waitFor())
  assert.deepEqual(await findBarriers(page), [])
  await page.reload()
  await rows(page).filter({ hasText: 'Not sent.' }).waitFor()
  await page.getByRole('button', { name: 'Remove from the list: Another' }).click()
  await rows(page).first().waitFor({ state: 'detached' })
  assert.equal(await jobsOf(app, own.org_id), 2)
  await close()
})

test('where nothing can be stored the refusal says that the slots are taken, not that the list is full', async () => {
  const own = await newCustomer(app)
  await submit(app, own, { prompt: 'Running' })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 429/)
  await page.evaluate(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException('', 'QuotaExceededError')
    }
  })
  await prompt(page).fill('Nowhere to wait')
  await generate(page).click()
  await page.getByText(errors.code.concurrency_limit_exceeded).waitFor()
  assert.equal(await rows(page).count(), 0)
  await close()
})

test('whoever removes or prefers one by keyboard goes on at the next', async () => {
  const own = await newCustomer(app)
  await submit(app, own, { prompt: 'Running' })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 429/)
  for (const text of ['One', 'Two', 'Three', 'Four']) await wait(page, text)
  const press = async (name: string) => {
    await page.getByRole('button', { name }).focus()
    await page.keyboard.press('Enter')
  }
  const focused = (name: string) => page.getByRole('button', { name }).and(page.locator(':focus'))
  await press('Send first: Three')
  await rows(page).first().filter({ hasText: 'Three' }).waitFor()
  await focused('Send first: Four').waitFor()
  await press('Remove from the list: One')
  await rows(page).nth(3).waitFor({ state: 'detached' })
  await focused('Remove from the list: Two').waitFor()
  await press('Remove from the list: Four')
  await rows(page).nth(2).waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: '2 videos waiting' }).and(page.locator(':focus')).waitFor()
  await press('Remove from the list: Two')
  await rows(page).nth(1).waitFor({ state: 'detached' })
  await press('Remove from the list: Three')
  await page.locator('[data-page-title]:focus').waitFor()
  await close()
})
