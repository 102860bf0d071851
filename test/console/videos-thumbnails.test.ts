import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { drawVariants, submit } from '../support/http/videos-app.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 100 } }
video_models:
  - id: instant-1
    engine: { kind: instant, script: [{ prompt_includes: breaks, render: permanent }] }
    per_second: "0.010000"
`

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
})
after(() => app?.close())

const card = (page: Page, status: string) => page.locator(`[data-job-status=${status}]`)

/** Paths of all requests for the content of videos, as they are sent. */
function contentRequests(page: Page): string[] {
  const seen: string[] = []
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    if (pathname.endsWith('/content')) seen.push(pathname + search)
  })
  return seen
}

/** Resolves when the picture is loaded, at a later try too, with its width in pixels. */
async function widthOf(page: Page, selector: string): Promise<number> {
  const width = await page.waitForFunction((found) => {
    const image = document.querySelector<HTMLImageElement>(found)
    return image?.complete && image.naturalWidth
  }, selector)
  return Number(await width.jsonValue())
}

test('the card of a finished video shows its thumbnail; nothing is requested for videos that have none', async () => {
  const own = await newCustomer(app)
  const { body: done } = await submit(app, own, { prompt: 'A boat', seconds: 5 })
  await submit(app, own, { prompt: 'It breaks' })
  const { body: canceled } = await submit(app, own, { prompt: 'Better not' })
  await send(app, 'POST', `/v1/videos/${canceled.id}/cancel`, own)
  await app.tick()
  await submit(app, own, { prompt: 'Not yet' })
  for (const language of firstUnlessCheck(['en', 'ja'] as const)) {
    const { page, close, screenshot } = await openConsole(browser, { app, as: own, language, path: '/sign-in' })
    const requests = contentRequests(page)
    await page.goto(`${app.url}/videos`)
    assert.equal(await widthOf(page, '[data-job-status=completed] img'), 640)
    for (const status of ['failed', 'canceled', 'moderating']) {
      await card(page, status).waitFor()
      assert.equal(await card(page, status).locator('img').count(), 0, status)
    }
    assert.deepEqual(requests, [`/v1/videos/${done.id}/content?variant=thumbnail`])
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`gallery-thumbnails-${language}`)
    await close()
  }
})

test('a thumbnail for which there was no room is asked for again, until it is there', async () => {
  const own = await newCustomer(app)
  await submit(app, own, { prompt: 'A boat', seconds: 5 })
  await app.tick()
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/sign-in' })
  allow(/status of 429/)
  await page.clock.install()
  let full = true
  const refused = { status: 429, json: { error: { code: 'too_many_requests', message: 'Wait.' } } }
  await page.route('**/content?variant=thumbnail', (route) => (full ? route.fulfill(refused) : route.continue()))
  const asked = () => page.waitForResponse('**/content?variant=thumbnail')
  const first = asked()
  await page.goto(`${app.url}/videos`)
  await first
  await card(page, 'completed').locator('img').waitFor({ state: 'detached' })
  const second = asked()
  await page.clock.runFor(5000)
  assert.equal((await second).status(), 429)
  await card(page, 'completed').locator('img').waitFor({ state: 'detached' })
  full = false
  await page.clock.runFor(10_000)
  assert.equal(await widthOf(page, '[data-job-status=completed] img'), 640)
  await close()
})

test('a mouse that moves over a card goes through the seconds of the video, unless reduced motion is preferred', async () => {
  const own = await newCustomer(app)
  const { body } = await submit(app, own, { prompt: 'A boat', seconds: 5 })
  await app.tick()
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos' })
  const requests = contentRequests(page)
  await widthOf(page, '[data-job-status=completed] img')
  const { x, y, width, height } = (await card(page, 'completed').locator('img').first().boundingBox())!
  const moveTo = (share: number) => page.mouse.move(x + width * share, y + height / 2, { steps: 3 })
  await moveTo(0.1)
  await moveTo(0.2)
  await page.mouse.move(0, 0)
  assert.deepEqual(requests.filter((path) => path.includes('spritesheet')).length, 0, 'reduced motion')

  await page.emulateMedia({ reducedMotion: 'no-preference' })
  await moveTo(0.1)
  const cells = '[data-job-status=completed] img[src$=spritesheet]'
  assert.equal(await widthOf(page, cells), 4 * 320)
  for (const [share, place] of [
    [0.1, '0% 0%'],
    [0.5, '-200% 0%'],
    [0.95, '0% -100%'],
  ] as const) {
    await moveTo(share)
    await page.waitForFunction(
      ([selector, expected]) => {
        const { style } = document.querySelector<HTMLElement>(selector!)!
        return `${style.left} ${style.top}` === expected
      },
      [cells, place],
    )
  }
  await screenshot('gallery-spritesheet')
  await page.mouse.move(0, 0)
  await moveTo(0.3)
  assert.equal(requests.filter((path) => path.includes('spritesheet')).length, 1, 'loaded once')
  assert.ok(requests.every((path) => path.startsWith(`/v1/videos/${body.id}/content?variant=`)))
  await close()
})

test('a thumbnail that cannot be had is replaced by a placeholder, and the page of a video has it as its poster', async () => {
  const own = await newCustomer(app)
  const { body } = await submit(app, own, { prompt: 'A boat' })
  await app.tick()
  await drawVariants(app)
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/sign-in' })
  allow(/status of 503/)
  await page.route('**/content?variant=thumbnail', (route) => route.fulfill({ status: 503 }))
  await page.goto(`${app.url}/videos`)
  await card(page, 'completed').locator('img').waitFor({ state: 'detached' })
  await page.unrouteAll()
  await card(page, 'completed').click()
  await page.locator(`video[poster="/v1/videos/${body.id}/content?variant=thumbnail"]`).waitFor()
  await close()
})
