import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { insertEndedJobs, storedFile } from '../support/http/videos-app.ts'
import { openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
let person: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app?.close())

const scrolled = (page: Page) => page.evaluate(() => Math.round(scrollY))
const restored = (page: Page, top: number) => page.waitForFunction((wanted) => Math.abs(scrollY - wanted) < 5, top)
const card = (page: Page, number: number) => page.getByRole('link', { name: `number ${number} of` })

test('the gallery is where it was after its page deleted a video, and after the link back', async () => {
  await insertEndedJobs(app.database, person, 150)
  const { page, close } = await openConsole(browser, { app, as: person, path: '/videos', width: 1600 })
  await card(page, 150).waitFor()
  await page.mouse.move(1200, 400)
  await page.mouse.wheel(0, 2000)
  await page.waitForFunction(() => scrollY > 1900)
  const top = await scrolled(page)
  const [first, second] = await visibleNumbers(page)
  await card(page, first!).click()
  await page.getByRole('link', { name: 'All videos' }).click()
  await card(page, first!).waitFor()
  await restored(page, top)
  await card(page, first!).click()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await card(page, first!).waitFor({ state: 'detached' })
  await card(page, second!).waitFor()
  await restored(page, top)
  await close()
})

test('a filtered list has its filter, its pages and its place after the way back', async () => {
  for (let i = 0; i < 60; i += 1) await storedFile(app, person, { purpose: 'video' })
  await storedFile(app, person, { purpose: 'audio' })
  const { page, close } = await openConsole(browser, { app, as: person, path: '/files' })
  await page
    .getByRole('combobox', { name: /purpose|Show/i })
    .last()
    .selectOption('video')
  await page.waitForURL(/\/files\?purpose=video$/)
  await page.getByRole('button', { name: 'Load more' }).click()
  const rows = page.getByRole('table').getByRole('row')
  await rows.nth(60).waitFor()
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
  const top = await scrolled(page)
  await page.getByRole('link', { name: 'API keys' }).click()
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
  await page.goBack()
  await rows.nth(60).waitFor()
  assert.equal(await rows.count(), 61)
  await restored(page, top)
  await close()
})

test('the period and grouping of usage are in its address', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/usage' })
  await page.getByRole('radio', { name: '7 days' }).click()
  await page.getByRole('radio', { name: 'Key' }).click()
  await page.waitForURL(/days=7&by=key|by=key&days=7/)
  await page.getByRole('link', { name: 'API keys' }).click()
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
  await page.goBack()
  for (const name of ['7 days', 'Key']) await page.getByRole('radio', { name, checked: true }).waitFor()
  await page.getByRole('radio', { name: 'Custom' }).click()
  await page.getByLabel('From').fill('2026-01-05')
  await page.waitForURL(/from=2026-01-05/)
  await page.reload()
  assert.equal(await page.getByLabel('From').inputValue(), '2026-01-05')
  await close()
})

/** The numbers of the cards in sight, from the top. */
async function visibleNumbers(page: Page): Promise<number[]> {
  const texts = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('a[data-job-status]')]
      .filter((each) => each.getBoundingClientRect().top > 0 && each.getBoundingClientRect().bottom < innerHeight)
      .map((each) => each.innerText),
  )
  return texts.map((text) => Number(/number (\d+) of/.exec(text)![1]))
}
