import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
let person: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  person = await newCustomer(app)
  for (let i = 0; i < 2; i++) assert.equal((await send(app, 'POST', '/v1/videos', person, videoBody())).status, 200)
  await app.tick()
  const body = { model: 'sandbox-1', messages: [{ role: 'user', content: 'Say a few words.' }] }
  assert.equal((await send(app, 'POST', '/v1/chat/completions', { cookie: person.cookie }, body)).status, 200)
})
after(() => app?.close())

/**
 * The labels of the chart that are cut off or overlap, with their positions, as soon as there are none, or after half a minute: the data, the
 * fonts and the layout arrive in their own time, which on a busy machine is long.
 */
async function looksWrong(page: Page): Promise<string[]> {
  const until = performance.now() + 30_000
  for (;;) {
    const wrong = await labelsWrong(page)
    if (wrong.length === 0 || performance.now() > until) return wrong
  }
}

/** The same as the page is at its next frame. */
const labelsWrong = (page: Page) =>
  page.evaluate(async () => {
    const placeOf = ({ left, top, right, bottom }: DOMRect) => [left, top, right, bottom].map(Math.round).join(' ')
    const look = () => {
      const svg = [...document.querySelectorAll('svg')].find((each) => each.querySelector('[data-bar]'))
      if (!svg) return ['no chart']
      const frame = svg.getBoundingClientRect()
      const texts = [...svg.querySelectorAll('text')].map(
        (each) => [each.textContent!, each.getBoundingClientRect()] as const,
      )
      if (texts.length === 0) return ['no labels']
      const outside = texts.filter(
        ([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1,
      )
      const over = texts.filter(([, a], i) =>
        texts
          .slice(i + 1)
          .some(([, b]) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom),
      )
      return [...outside, ...over].map(([text, box]) => `${text} at ${placeOf(box)} in ${placeOf(frame)}`)
    }
    await new Promise(requestAnimationFrame)
    return look()
  })

test('arrow keys move through the days of the chart, and a screen reader gets each day with its amounts', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/usage' })
  await page.locator('[data-bar]').first().waitFor()
  const chart = page.getByRole('slider', { name: 'Cost per day' })
  await chart.focus()
  const texts: string[] = []
  for (const key of ['Home', 'ArrowRight', 'End']) {
    await page.keyboard.press(key)
    texts.push((await chart.getAttribute('aria-valuetext'))!)
  }
  const [first, second, last] = texts
  assert.match(first!, /^\w{3} \d+: Total \$0\.00$/)
  assert.notEqual(first!.split(':')[0], second!.split(':')[0])
  assert.match(last!, /^\w{3} \d+: Total \$0\.\d+, .+ \$0\.08, .+ \$0\.\d+$/)
  await page.getByText(last!.split(':')[0]!, { exact: true }).nth(1).waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('usage-chart-keyboard')
  await close()
})

test('the chart shows the day under the pointer until the pointer leaves', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/usage' })
  const bar = page.locator('[data-bar]').last()
  await bar.waitFor()
  await bar.hover({ force: true })
  const detail = page.locator('dt', { hasText: 'Sandbox' })
  await detail.waitFor()
  await screenshot('usage-chart-pointer')
  await page.getByRole('heading', { name: 'Usage' }).hover()
  await detail.waitFor({ state: 'detached' })
  await close()
})

const LOOKS = [
  ['light', 1280, 'en'],
  ['dark', 1280, 'ja'],
  ['light', 390, 'ja'],
  ['dark', 390, 'en'],
] as const
for (const [theme, width, language] of firstUnlessCheck(LOOKS)) {
  test(`no label of the chart is cut or lies over another: ${theme}, ${width} pixels, ${language}`, async () => {
    const look = { theme, width, language, path: '/usage' }
    const { page, close, screenshot } = await openConsole(browser, { app, as: person, ...look })
    for (const span of [/^7 /, /^90 /]) {
      await page.getByRole('radio', { name: span }).click()
      await page.locator('[data-bar]').last().waitFor()
      assert.deepEqual(await looksWrong(page), [])
      await page.locator('[data-bar]').last().hover({ force: true })
      await screenshot(`usage-chart-${theme}-${width}-${language}-${span.source.replace(/\W/g, '')}`)
    }
    assert.deepEqual(await findBarriers(page), [])
    await close()
  })
}
