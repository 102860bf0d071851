import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { drawVariants, storedFile, submit } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 100 } }
video_models: [{ id: instant-1, name: Quick, engine: { kind: instant }, per_second: "0.012345" }]
`

let app: TestApp
let browser: Browser
let person: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
  person = await newCustomer(app)
  for (const prompt of ['The first boat', 'The second boat', 'The newest boat']) await submit(app, person, { prompt })
  await app.tick()
  await drawVariants(app)
})
after(() => app?.close())

const cards = (page: Page) => page.getByRole('list', { name: 'Videos, newest first' }).getByRole('link')

test('a phone shows the newest video without scrolling, and the way to the others', async () => {
  const { page, close, screenshot } = await openConsole(browser, {
    app,
    as: person,
    path: '/videos',
    width: 390,
    height: 930,
  })
  const newest = page.getByRole('region', { name: 'Newest video' })
  await newest.getByRole('link', { name: 'The newest boat' }).waitFor()
  const { y, height } = (await newest.boundingBox())!
  assert.ok(y + height < 930 / 2, `${y} + ${height}`)
  await screenshot('newest-phone')
  assert.deepEqual(await findBarriers(page), [])
  await newest.getByRole('button', { name: 'Show all videos' }).click()
  await page.waitForFunction(() => scrollY > 0)
  const first = (await cards(page).first().boundingBox())!
  assert.ok(first.y >= 0 && first.y < 465, `${first.y}`)
  await close()
})

test('the gallery has several columns at 1024 pixels, and the page fills a window of 1920', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/videos', width: 1024 })
  const columns = async () => {
    await cards(page).nth(2).waitFor()
    const boxes = await Promise.all([0, 1, 2].map((at) => cards(page).nth(at).boundingBox()))
    return boxes.filter((box) => box!.y === boxes[0]!.y).length
  }
  assert.ok((await columns()) >= 2)
  await screenshot('gallery-1024')
  await page.setViewportSize({ width: 1920, height: 1080 })
  const main = (await page.getByRole('main').boundingBox())!
  assert.ok(main.x + main.width >= 1900 && main.x <= 260, JSON.stringify(main))
  await screenshot('gallery-1920')
  await close()
})

for (const language of ['en', 'ja'] as const)
  test(`the toolbar and the foot of a card are single rows, and the form ends within the window (${language})`, async () => {
    const { page, close } = await openConsole(browser, { app, as: person, path: '/videos', language })
    const rowsOf = (selector: string) =>
      page.locator(selector).evaluateAll((places) =>
        places.map((place) => {
          const middles = [...place.children].map((each) => each.getBoundingClientRect())
          return new Set(middles.map(({ top, bottom }) => Math.round((top + bottom) / 2 / 4))).size
        }),
      )
    const submitBottom = () =>
      page
        .locator('[aria-keyshortcuts="Control+Enter Meta+Enter"]')
        .evaluate((button) => button.getBoundingClientRect().bottom)
    for (const [width, height] of [
      [1280, 800],
      [1024, 768],
      [1920, 1080],
      [390, 844],
    ] as const) {
      await page.setViewportSize({ width, height })
      await page.locator('a[data-job-status]').first().waitFor()
      const place = `at ${width}`
      if (width > 390) {
        assert.deepEqual(await rowsOf('search > div:first-child'), [1], place)
        assert.ok((await submitBottom()) < height, place)
      }
      assert.deepEqual([...new Set(await rowsOf('a[data-job-status] > span:last-child > span:last-child'))], [1], place)
      const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
      assert.ok(scroll! <= inner!, place)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    for (const mode of await page.locator('section [role=radiogroup]').first().getByRole('radio').all()) {
      await mode.click()
      assert.ok((await submitBottom()) < 800)
      assert.equal(await page.evaluate(() => scrollY), 0)
    }
    assert.deepEqual(await findBarriers(page), [])
    await close()
  })

test('what lies over a picture is dark in both themes', async () => {
  for (const theme of ['light', 'dark'] as const) {
    const { page, close } = await openConsole(browser, { app, as: person, path: '/videos', theme })
    const badge = cards(page)
      .first()
      .getByText(/^\d+ s$/)
    const color = await badge.evaluate((element) => getComputedStyle(element).backgroundColor)
    assert.match(color, /^rgba\(16, 17, 19/, theme)
    await close()
  }
})

test('an id breaks in its middle or not at all, in a page of any width', async () => {
  await storedFile(app, person)
  for (const path of ['/files', '/keys', '/billing']) {
    const { page, close } = await openConsole(browser, { app, as: person, path })
    await page.locator('main [data-id]').first().waitFor()
    for (let width = 360; width <= 1280; width += 20) {
      await page.setViewportSize({ width, height: 800 })
      const [broken, scroll, inner] = await page.evaluate(() => {
        const halves = [...document.querySelectorAll<HTMLElement>('[data-id] > span')]
        const broken = halves.filter((half) => half.getClientRects().length > 1).length
        return [broken, document.documentElement.scrollWidth, innerWidth] as const
      })
      assert.equal(broken, 0, `${path} at ${width}`)
      assert.ok(scroll <= inner, `${path}: ${scroll} wide in ${inner}`)
    }
    await close()
  }
})

test('the price on a card is not cut off where the reader spaces text out', async () => {
  await app.database.pool.query("update video_jobs set created_at = created_at - interval '10 hours'")
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/videos', width: 1280 })
  await cards(page).first().waitFor()
  await page.evaluate(() => {
    // WCAG 2.2, 1.4.12.
    for (const element of document.querySelectorAll<HTMLElement>('main *')) {
      element.style.lineHeight = '1.5'
      element.style.letterSpacing = '0.12em'
      element.style.wordSpacing = '0.16em'
    }
  })
  const cut = await cards(page).evaluateAll(
    (links) =>
      links.filter((link) => {
        const box = link.getBoundingClientRect()
        const price = [...link.querySelectorAll('[title]')].at(-1)!.getBoundingClientRect()
        return price.right > box.right || price.bottom > box.bottom
      }).length,
  )
  await screenshot('text-spacing')
  assert.equal(cut, 0)
  await close()
})

test('the sign-in card stays where it is when an error appears', async () => {
  const { page, close, allow } = await openConsole(browser, { app, path: '/sign-in' })
  allow(/status of 401/)
  const email = page.getByLabel('Email')
  const place = () => email.evaluate((element) => element.getBoundingClientRect().top)
  const before = await place()
  await email.fill('nobody@example.com')
  await page.getByLabel('Password', { exact: true }).fill('wrong password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  assert.equal(await place(), before)
  await close()
})

test('an open list of models leaves the edge of the page as it is', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/videos' })
  const look = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  const before = await look()
  await page.getByRole('button', { name: /^Model/ }).click()
  await page.getByRole('menuitemradio').first().waitFor()
  assert.equal(await look(), before)
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).overflowY), 'visible')
  await close()
})
