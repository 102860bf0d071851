import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { drawVariants, submit } from '../support/http/videos-app.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 100 } }
video_models: [{ id: instant-1, name: Quick, engine: instant, per_second: "0.010000" }]
`

let app: TestApp
let browser: Browser
let own: TestPerson
let ids: string[]
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
})
after(() => app?.close())

async function threeVideos(): Promise<void> {
  own = await newCustomer(app)
  ids = []
  for (const prompt of ['A lighthouse at night', 'A cat in the rain', 'A boat on a lake'])
    ids.push((await submit(app, own, { prompt })).body.id)
}

const change = (body: object) => send(app, 'PATCH', '/console/videos/labels', { cookie: own.cookie }, body)
const labelsOf = async (id: string, { cookie } = own) => {
  const { body } = await send(app, 'GET', `/console/videos/labels?ids=${id}`, { cookie })
  const { name, tags, favorite } = body.data[0]
  return { name, tags, favorite }
}
const cards = (page: Page) => page.locator('a[data-job-status]')
const shows = async (page: Page, ...texts: string[]) => {
  for (const text of texts) await cards(page).filter({ hasText: text }).waitFor()
  await page.waitForFunction((count) => document.querySelectorAll('a[data-job-status]').length === count, texts.length)
}
/** Resolves once the service has answered the change: a star is shown as pressed before. */
const changed = (page: Page, act: () => Promise<void>) =>
  Promise.all([page.waitForResponse((response) => response.request().method() === 'PATCH'), act()])
const queryOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

test('a star on a card makes the video a favorite of who presses it, and the favorites are a filter in the address', async () => {
  await threeVideos()
  const colleague = await newColleague(app, own.org_id)
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos' })
  const star = page.getByRole('button', { name: 'Favorite: A cat in the rain' })
  await changed(page, () => star.click())
  await page.locator('button[aria-pressed=true]').waitFor()
  assert.deepEqual(await labelsOf(ids[1]!), { name: null, tags: [], favorite: true })
  assert.equal((await labelsOf(ids[1]!, colleague)).favorite, false)
  assert.equal(new URL(page.url()).pathname, '/videos')
  await screenshot('gallery-star')
  await page.getByRole('button', { name: 'Filters' }).click()
  await page.getByLabel('Favorites').selectOption({ label: 'Your favorites' })
  await shows(page, 'cat in the rain')
  assert.deepEqual(queryOf(page), { favorite: 'true' })
  await page.reload()
  await shows(page, 'cat in the rain')
  await changed(page, () => star.press('Enter'))
  await page.getByRole('heading', { name: 'No videos match' }).waitFor()
  assert.equal((await labelsOf(ids[1]!)).favorite, false)
  await close()
})

test('a name and tags are given on the page of a video, by keyboard, and are on its card, in the search and in the filters', async () => {
  await threeVideos()
  await change({ ids: [ids[0]], tags: ['Launch'] })
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: `/videos/${ids[1]}` })
  const name = page.getByRole('textbox', { name: 'Name' })
  await name.fill('Rainy night')
  await name.press('Escape')
  assert.equal(await name.inputValue(), '')
  await name.fill('  Rainy   day ')
  await name.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Rainy day' }).waitFor()
  const saved = page.getByRole('status').filter({ hasText: 'Saved.' })
  await saved.waitFor()
  await name.press('End')
  await name.pressSequentially('s')
  await saved.waitFor({ state: 'detached' })
  await name.press('Escape')
  assert.equal(await page.title().then((title) => title.includes('Rainy day')), true)
  const tags = page.getByRole('combobox', { name: 'Tags' })
  await tags.focus()
  await page.locator('datalist option[value=Launch]').waitFor({ state: 'attached' })
  for (const tag of ['launch', '雨'] as const) {
    await tags.fill(tag)
    await tags.press('Enter')
    await page.getByRole('link', { name: tag, exact: true }).waitFor()
  }
  await page.waitForFunction(
    () => document.activeElement instanceof HTMLInputElement && document.activeElement.value === '',
  )
  await changed(page, () => page.getByRole('button', { name: 'Favorite: Rainy day' }).click())
  await page.locator('button[aria-pressed=true]').waitFor()
  assert.deepEqual(await labelsOf(ids[1]!), { name: 'Rainy day', tags: ['launch', '雨'], favorite: true })
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('video-labels')
  await page.getByRole('button', { name: 'Remove the tag 雨' }).click()
  await page.getByRole('link', { name: '雨', exact: true }).waitFor({ state: 'detached' })
  assert.ok(await tags.evaluate((field) => field === document.activeElement))
  await page.getByRole('link', { name: 'launch', exact: true }).click()
  await shows(page, 'lighthouse', 'Rainy day')
  await cards(page).filter({ hasText: 'Rainy day' }).getByText('launch', { exact: true }).waitFor()
  assert.deepEqual(queryOf(page), { tag: 'launch' })
  await page.getByRole('button', { name: 'Filters (1 on)' }).waitFor()
  assert.equal(await page.getByLabel('Tag', { exact: true }).inputValue(), 'launch')
  assert.deepEqual(await findBarriers(page), [])
  await page.getByRole('button', { name: 'Clear all' }).click()
  await page.getByRole('searchbox').fill('rainy d')
  await shows(page, 'Rainy day')
  await close()
})

test('what is not accepted is announced, and stays where it was typed', async () => {
  await threeVideos()
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: `/videos/${ids[0]}` })
  allow(/status of 500/)
  const name = page.getByRole('textbox', { name: 'Name' })
  await name.waitFor()
  await page.route('**/console/videos/labels', (route) => route.fulfill({ status: 500, body: '{}' }))
  await name.fill('Lost')
  await name.press('Enter')
  await page
    .getByRole('region', { name: /^Notifications/ })
    .getByText(/went wrong|try again/i)
    .waitFor()
  assert.equal(await name.inputValue(), 'Lost')
  await page.unroute('**/console/videos/labels')
  await name.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Lost' }).waitFor()
  await close()
})

test('a clip is saved under its name', async () => {
  await threeVideos()
  await app.tick()
  await drawVariants(app)
  await change({ ids: [ids[0]], name: 'Opening: take 2' })
  const { page, close } = await openConsole(browser, { app, as: own, path: `/videos/${ids[0]}` })
  const link = page.getByRole('link', { name: 'Download' })
  await page.locator('a[download="Opening take 2.mp4"]').waitFor()
  assert.equal(await link.getAttribute('download'), 'Opening take 2.mp4')
  await close()
})

test('stars, names and tags fit a phone, in both themes and languages', async () => {
  await threeVideos()
  const long = 'とても長い名前'.repeat(20)
  await change({ ids, name: long, tags: Array.from({ length: 20 }, (_, at) => `${at} ${'tag'.repeat(15)}`) })
  for (const look of firstUnlessCheck([
    { width: 360, theme: 'dark', language: 'ja' },
    { width: 390, theme: 'light', language: 'en' },
  ] as const)) {
    const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos', ...look })
    const star = (text: string) => page.getByRole('button', { name: text }).first()
    const label = look.language === 'ja' ? `お気に入り：${long}` : `Favorite: ${long}`
    await star(label).waitFor()
    const tags = cards(page).first().locator('.truncate', { hasText: '19 tag' })
    assert.ok((await tags.boundingBox())!.height < 24, 'one line')
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`gallery-labels-${look.width}`)
    await cards(page).first().click()
    await page.getByText(look.language === 'ja' ? /20 個まで/ : /at most 20 tags/).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const)
    assert.ok(scroll <= inner, `${scroll} wide in ${inner}`)
    await screenshot(`video-labels-${look.width}`)
    await close()
  }
})
