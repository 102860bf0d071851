import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { drawVariants, insertEndedJobs, submit } from '../support/http/videos-app.ts'
import { unzip } from '../support/zip.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 3 } }
video_models: [{ id: instant-1, name: Quick, engine: instant, per_second: "0.010000" }]
`

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
})
after(() => app?.close())

const cards = (page: Page) => page.locator('a[data-job-status]')
const box = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select: ${name}`, exact: true })
const bar = (page: Page) => page.getByRole('region', { name: 'Selected videos' })
const select = (page: Page) => page.getByRole('button', { name: 'Select', exact: true })
const says = (page: Page, text: string) => bar(page).getByRole('status').filter({ hasText: text }).waitFor()
const jobs = async ({ key }: TestPerson): Promise<Array<{ id: string; prompt: string; status: string }>> =>
  (await send(app, 'GET', '/v1/videos?limit=100&order=asc', { key })).body.data

async function submitted(as: TestPerson, ...prompts: string[]): Promise<string[]> {
  const ids = []
  for (const prompt of prompts) ids.push((await submit(app, as, { prompt, seconds: 4 })).body.id)
  for (let pending = prompts.length; pending > 0; ) {
    await app.tick()
    pending = (await jobs(as)).filter(({ status }) => !/completed|failed|canceled/.test(status)).length
  }
  return ids
}

test('videos are selected by pointer, key and range; the count is announced, Escape ends it, and cards lead nowhere meanwhile', async () => {
  const own = await newCustomer(app)
  await insertEndedJobs(app.database, own, 8, 0x50001)
  const name = (number: number) => `A boat, number ${0x50000 + number} of many`
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos' })
  await cards(page).first().waitFor()
  await select(page).click()
  await says(page, '0 selected')
  await box(page, name(7)).click()
  await box(page, name(3)).click({ modifiers: ['Shift'] })
  await says(page, '5 selected')
  await box(page, name(5)).press('Space')
  await says(page, '4 selected')
  assert.equal(await box(page, name(5)).isChecked(), false)
  assert.equal(await box(page, name(4)).isChecked(), true)
  assert.equal(new URL(page.url()).pathname, '/videos')
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('gallery-select')
  await page.keyboard.press('Escape')
  await bar(page).waitFor({ state: 'detached' })
  assert.ok(await select(page).evaluate((button) => button === document.activeElement))
  assert.equal(await page.getByRole('checkbox').count(), 0)
  await cards(page).first().click()
  await page.waitForURL('**/videos/video_*')
  await close()
})

test('what is selected is downloaded as one archive, tagged, and added to the favorites', async () => {
  const own = await newCustomer(app)
  const ids = await submitted(own, 'A lighthouse', 'A cat')
  await drawVariants(app)
  const { page, close } = await openConsole(browser, { app, as: own, path: '/videos' })
  await cards(page).first().waitFor()
  await select(page).click()
  await box(page, 'A lighthouse').click()
  await box(page, 'A cat').click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    bar(page).getByRole('link', { name: 'Download 2 as ZIP' }).click(),
  ])
  assert.match(download.suggestedFilename(), /^videos-.*\.zip$/)
  const files = unzip(readFileSync(await download.path()))
  assert.deepEqual([...files.keys()].toSorted(), ['A cat.mp4', 'A lighthouse.mp4', 'manifest.json'])
  await bar(page).getByRole('button', { name: 'Add to favorites' }).click()
  await bar(page).getByRole('combobox', { name: 'Add a tag' }).fill('launch')
  await page.keyboard.press('Enter')
  await page.getByText('2 videos have the tag launch now.').first().waitFor()
  const { body } = await send(app, 'GET', `/console/videos/labels?ids=${ids}`, { cookie: own.cookie })
  for (const { tags, favorite } of body.data) assert.deepEqual([tags, favorite], [['launch'], true])
  await close()
})

test('those that are deleted leave together, come back after one undo, and only what one may delete is deleted', async () => {
  const own = await newCustomer(app)
  const member = await newColleague(app, own.org_id)
  await send(app, 'PATCH', '/console/organization', { cookie: own.cookie }, { members_delete: 'own' })
  await submitted(own, 'Theirs')
  await submitted(member, 'Mine', 'Mine too')
  await drawVariants(app)
  const { page, close } = await openConsole(browser, { app, as: member, path: '/videos' })
  await cards(page).nth(2).waitFor()
  await page.clock.install()
  await select(page).click()
  for (const name of ['Theirs', 'Mine', 'Mine too']) await box(page, name).click()
  const remove = bar(page).getByRole('button', { name: 'Delete 2' })
  await remove.click()
  await cards(page).nth(1).waitFor({ state: 'detached' })
  await says(page, '0 selected')
  await page.getByRole('button', { name: 'Undo' }).click()
  await cards(page).nth(2).waitFor()
  assert.equal((await jobs(own)).length, 3)
  for (const name of ['Mine', 'Mine too']) await box(page, name).click()
  await remove.click()
  const gone = Promise.all(
    [0, 1].map(() => page.waitForResponse((response) => response.request().method() === 'DELETE' && response.ok())),
  )
  await page.clock.runFor(11_000)
  await gone
  while ((await jobs(own)).length > 1) await new Promise(setImmediate)
  assert.deepEqual(
    (await jobs(own)).map(({ prompt }) => prompt),
    ['Theirs'],
  )
  await close()
})

test('failed ones are submitted again after their cost is shown, and what finds no slot waits', async () => {
  const own = await newCustomer(app)
  // Nothing here translates their prompts.
  await submitted(own, '夜の灯台 1', '夜の灯台 2', '夜の灯台 3')
  const ids = await submitted(own, '夜の灯台 4')
  await send(app, 'PATCH', '/console/videos/labels', { cookie: own.cookie }, { ids, name: 'Last light' })
  const { page, close, allow, screenshot } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 429/)
  await cards(page).nth(3).waitFor()
  await select(page).click()
  const boxes = page.getByRole('checkbox')
  for (let at = 0; at < 4; at++) await boxes.nth(at).click()
  await bar(page).getByRole('button', { name: 'Retry 4 failed' }).click()
  const dialog = page.getByRole('dialog', { name: 'Submit 4 requests again?' })
  await dialog.getByText('$0.16').waitFor()
  await dialog.getByRole('listitem').filter({ hasText: 'Last light' }).waitFor()
  assert.equal(await dialog.getByText('夜の灯台 4').count(), 0)
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('gallery-retry')
  await dialog.getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('heading', { name: /waiting/i }).waitFor()
  while ((await jobs(own)).length < 7) await new Promise(setImmediate)
  const again = (await jobs(own)).slice(4)
  assert.deepEqual(again.map(({ prompt }) => prompt).toSorted(), ['夜の灯台 1', '夜の灯台 2', '夜の灯台 3'])
  await close()
})

test('all that is shown is selected at once, a phone has the actions in a menu, and cards keep their place in the end', async () => {
  const own = await newCustomer(app)
  await insertEndedJobs(app.database, own, 30, 0x60001)
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos', width: 390 })
  await cards(page).first().waitFor()
  await select(page).click()
  await bar(page).getByRole('button', { name: 'Select all shown' }).click()
  await says(page, '30 selected')
  const last = box(page, `A boat, number ${0x60000 + 20} of many`)
  while ((await last.count()) === 0) await page.mouse.wheel(0, 1000)
  await last.scrollIntoViewIfNeeded()
  await bar(page).getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete 30' }).waitFor()
  await screenshot('gallery-select-menu')
  await page.getByRole('menuitem', { name: 'Add a tag' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a tag' })
  assert.deepEqual(await findBarriers(page), [])
  await dialog.getByRole('combobox').fill('all')
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  await page.getByText('30 videos have the tag all now.').first().waitFor()
  const place = () =>
    page
      .locator('[data-job-status]', { hasText: `number ${0x60000 + 20} of` })
      .evaluate((card) => card.getBoundingClientRect().top)
  const before = await place()
  await bar(page).getByRole('button', { name: 'Done' }).click()
  await bar(page).waitFor({ state: 'detached' })
  await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))))
  const now = await place()
  assert.ok(Math.abs(now - before) < 2, `${before} and then ${now}`)
  await close()
})

test('selecting fits a phone, in both themes and languages', async () => {
  const own = await newCustomer(app)
  await insertEndedJobs(app.database, own, 3, 0x70001)
  for (const look of firstUnlessCheck([
    { width: 360, theme: 'dark', language: 'ja' },
    { width: 390, theme: 'light', language: 'en' },
  ] as const)) {
    const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos', ...look })
    const isJapanese = look.language === 'ja'
    await page.getByRole('button', { name: isJapanese ? '選択' : 'Select', exact: true }).click()
    await page.getByRole('checkbox').first().click()
    const count = page.getByRole('status').filter({ hasText: isJapanese ? '1 本を選択中' : '1 selected' })
    await count.waitFor()
    assert.ok((await page.locator('section', { has: count }).boundingBox())!.height < 110, 'two lines')
    assert.deepEqual(await findBarriers(page), [])
    const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const)
    assert.ok(scroll <= inner, `${scroll} wide in ${inner}`)
    await screenshot(`gallery-select-${look.width}`)
    await close()
  }
})
