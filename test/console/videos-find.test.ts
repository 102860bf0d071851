import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { movePastIds } from '../support/http/past-ids.ts'
import { insertEndedJobs, submit } from '../support/http/videos-app.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 100 } }
video_models: [{ id: instant-1, name: Quick, engine: instant, per_second: "0.010000" }]
`

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
})
after(() => app?.close())

const cards = (page: Page) => page.getByRole('list', { name: 'Videos, newest first' }).getByRole('link')
const queryOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)
/** Waits until the gallery shows these and no others. */
const shows = async (page: Page, ...prompts: string[]) => {
  for (const prompt of prompts) await cards(page).filter({ hasText: prompt }).waitFor()
  await page.waitForFunction(
    ([list, count]) => document.querySelectorAll(`ul[aria-label="${list}"] a`).length === count,
    ['Videos, newest first', prompts.length] as const,
  )
}

async function twoPeople(): Promise<[TestPerson, TestPerson]> {
  const own = await newCustomer(app)
  const colleague = await newColleague(app, own.org_id)
  for (const [as, prompt, seconds] of [
    [own, 'A lighthouse at night', 4],
    [colleague, '夜の灯台と猫', 8],
    [own, 'A cat in the rain', 12],
  ] as const)
    await submit(app, as, { prompt, seconds })
  return [own, colleague]
}

test('videos are found by text, person, status and cost; the address has all of it, also after a reload', async () => {
  const [own, colleague] = await twoPeople()
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos' })
  await shows(page, 'lighthouse', '灯台', 'rain')
  const search = page.getByRole('searchbox', { name: 'Search prompts' })
  await search.fill('灯台')
  await shows(page, '灯台')
  await search.fill('猫')
  await shows(page, '灯台')
  await search.fill('CAT ')
  await shows(page, 'rain')
  assert.deepEqual(queryOf(page), { search: 'CAT' })
  await page.getByRole('button', { name: 'Clear all' }).click()
  await shows(page, 'lighthouse', '灯台', 'rain')
  assert.equal(await search.inputValue(), '')
  await page.getByLabel('Created by').selectOption({ label: 'You' })
  await shows(page, 'lighthouse', 'rain')
  await page.getByRole('button', { name: 'Filters' }).click()
  await page.getByLabel('Cost from (USD)', { exact: true }).fill('0.05')
  await shows(page, 'rain')
  await page.getByRole('button', { name: 'Filters (1 on)' }).waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('gallery-filters')
  await page.reload()
  await shows(page, 'rain')
  assert.deepEqual(queryOf(page), { user_id: own.user_id, cost_min: '0.05' })
  assert.equal(await page.getByLabel('Cost from').inputValue(), '0.05')
  await page.getByLabel('Created by').focus()
  await page.getByLabel('Created by').selectOption(colleague.user_id)
  await shows(page, '灯台')
  await page.getByLabel('Status').selectOption({ label: 'Failed' })
  await page.getByRole('heading', { name: 'No videos match' }).waitFor()
  assert.deepEqual(await findBarriers(page), [])
  // Nothing here translates its prompt.
  await app.tick()
  await shows(page, '灯台')
  await cards(page).click()
  await page.getByRole('link', { name: 'All videos' }).click()
  await shows(page, '灯台')
  await close()
})

test('every video shows who submitted it, also to a member, and one that is submitted comes into a list that it fits', async () => {
  const [own, colleague] = await twoPeople()
  const { page, close } = await openConsole(browser, { app, as: colleague, path: `/videos?user_id=${own.user_id}` })
  await shows(page, 'lighthouse', 'rain')
  const name = await page.getByLabel('Created by').locator('option:checked').innerText()
  for (const card of await cards(page).all()) await card.getByText(`By ${name}`).waitFor()
  await submit(app, own, { prompt: 'Another of them' })
  await shows(page, 'lighthouse', 'rain', 'Another')
  await submit(app, colleague, { prompt: 'Mine' })
  await page.getByLabel('Created by').selectOption({ label: 'Everyone' })
  await shows(page, 'lighthouse', 'rain', 'Another', 'Mine', '灯台')
  await close()
})

test('what is rare is found however old it is, and what is not there is not', async () => {
  const own = await newCustomer(app)
  await insertEndedJobs(app.database, own, 12_000)
  const { page, close } = await openConsole(browser, { app, as: own, path: '/videos?search=number+77+of' })
  await shows(page, 'number 77 of many')
  await page.getByText('Looking through older videos…').waitFor({ state: 'detached' })
  await page.getByRole('searchbox').fill('submarine')
  await page.getByRole('heading', { name: 'No videos match' }).waitFor()
  await close()
})

test('days have headings that stay in sight, dates choose among them, and cards are as large as chosen', async () => {
  const own = await newCustomer(app)
  await insertEndedJobs(app.database, own, 60, 0x10001)
  await app.database.pool.query(
    `update video_jobs set created_at = '2026-03-01T12:00:00Z'::timestamptz + (right(id, 4) > '001E')::int * interval '1 day' where org_id = $1`,
    [own.org_id],
  )
  for (const language of firstUnlessCheck(['en', 'ja'] as const)) {
    const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos', language })
    const day = (name: string) => page.getByRole('heading', { level: 2, name })
    const [newer, older] = language === 'en' ? ['Mar 2, 2026', 'Mar 1, 2026'] : ['2026/03/02', '2026/03/01']
    await day(newer!).waitFor()
    const slider = page.getByRole('slider', { name: language === 'en' ? 'Size of the cards' : 'カードの大きさ' })
    const widest = () =>
      page
        .locator('a[data-job-status]')
        .first()
        .evaluate((card) => card.clientWidth)
    await page.setViewportSize({ width: 360, height: 800 })
    await slider.waitFor({ state: 'hidden' })
    await page.setViewportSize({ width: 1280, height: 800 })
    await slider.waitFor()
    const before = await widest()
    await slider.press('End')
    await page.waitForFunction((width) => document.querySelector('a[data-job-status]')!.clientWidth > width, before)
    assert.equal(queryOf(page).size, '480')
    // Rows are measured as they are shown, so the end may move.
    await page.waitForFunction((text) => {
      scrollTo(0, document.documentElement.scrollHeight)
      const shown = [...document.querySelectorAll('main li h2')].filter(({ textContent }) => textContent === text)
      return shown.some((heading) => Math.abs(heading.getBoundingClientRect().top) < 2)
    }, older!)
    assert.equal(await day(older!).count(), 1)
    await screenshot(`gallery-days-${language}`)
    assert.deepEqual(await findBarriers(page), [])
    await close()
  }
})

test('the gallery fits a phone, in both themes and languages, with its filters open', async () => {
  const [own] = await twoPeople()
  for (const look of firstUnlessCheck([
    { width: 360, theme: 'dark', language: 'ja' },
    { width: 390, theme: 'light', language: 'en' },
  ] as const)) {
    const { page, close, screenshot } = await openConsole(browser, {
      app,
      as: own,
      path: '/videos?cost_max=1',
      ...look,
    })
    await page.locator('a[data-job-status]').first().waitFor()
    assert.deepEqual(await findBarriers(page), [])
    const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const)
    assert.ok(scroll <= inner, `${scroll} wide in ${inner}`)
    await screenshot(`gallery-find-${look.width}`)
    await close()
  }
})

test('an amount and days filter as they are typed, however slowly, and stay in their fields', async () => {
  movePastIds(app.clock)
  const own = await newCustomer(app)
  const days: string[] = []
  for (const [prompt, seconds] of [
    ['A lighthouse at night', 4],
    ['夜の灯台と猫', 8],
    ['A cat in the rain', 12],
  ] as const) {
    app.clock.advance(86_400)
    const { body } = await submit(app, own, { prompt, seconds })
    days.push(new Date(body.created_at * 1000).toISOString().slice(0, 10))
  }
  // Sessions end sooner than that.
  const reader = await newColleague(app, own.org_id)
  const [year, month, date] = days[1]!.split('-')
  const { page, close } = await openConsole(browser, { app, as: reader, path: '/videos' })
  await page.getByRole('button', { name: 'Filters' }).click()
  const cost = page.getByLabel('Cost from')
  // Slower than the pause after which the field is read.
  const typed = (field: Locator, text: string) => field.pressSequentially(text, { delay: 400 })
  await typed(cost, '0.05')
  await shows(page, '灯台', 'rain')
  assert.equal(await cost.inputValue(), '0.05')
  assert.deepEqual(queryOf(page), { cost_min: '0.05' })
  await cost.fill('0.05 or so')
  await page.locator('[aria-invalid=true]').waitFor()
  assert.deepEqual(queryOf(page), { cost_min: '0.05' })
  await cost.fill('０．１')
  await shows(page, 'rain')
  await cost.fill('12345678901')
  await page.locator('[aria-invalid=true]').waitFor()
  await cost.fill('')
  await shows(page, 'lighthouse', '灯台', 'rain')
  assert.equal(await page.locator('[aria-invalid=true]').count(), 0)
  await typed(page.getByLabel('From', { exact: true }), `${month}${date}${year}`)
  await shows(page, '灯台', 'rain')
  await typed(page.getByLabel('To', { exact: true }), `${month}${date}${year}`)
  await shows(page, '灯台')
  assert.equal(await page.getByLabel('From', { exact: true }).inputValue(), days[1])
  assert.equal(await page.getByLabel('To', { exact: true }).inputValue(), days[1])
  await close()
})

test('what fails for one filter is not said of another', async () => {
  const own = await newCustomer(app)
  await insertEndedJobs(app.database, own, 300, 0x20001)
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos?search=of+many' })
  allow(/net::ERR_FAILED/)
  await page.route(/search=.*after=/, (route) => route.abort())
  await cards(page).first().waitFor()
  const failed = page.getByRole('button', { name: 'Try again' })
  while (!(await failed.isVisible())) await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
  await page.getByRole('button', { name: 'Clear all' }).click()
  await page.waitForURL('**/videos')
  await cards(page).first().waitFor()
  assert.equal(await failed.count(), 0)
  await close()
})

test('a person in the address is named once the names are known, and is not called a former member until then', async () => {
  const [own, colleague] = await twoPeople()
  const { page, close } = await openConsole(browser, { app, as: own, path: '/keys' })
  const known = Promise.withResolvers<void>()
  await page.route('**/console/videos/submitters', async (route) => {
    await known.promise
    await route.continue()
  })
  await page.goto(`${app.url}/videos?user_id=${colleague.user_id}`)
  await shows(page, '灯台')
  const chosen = page.getByLabel('Created by').locator('option:checked')
  assert.equal(await chosen.textContent(), '…')
  known.resolve()
  await chosen.filter({ hasNotText: '…' }).waitFor({ state: 'attached' })
  assert.doesNotMatch((await chosen.textContent())!, /Former/)
  await close()
})
