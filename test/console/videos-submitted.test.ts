import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { submit } from '../support/http/videos-app.ts'
import { openBrowser, openConsole } from './browser/browser.ts'
import { generate, prompt } from './video-studio.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp()
})
after(() => app?.close())

test('a request that is submitted out of sight of the list says so, and leads to its card', async () => {
  const own = await newCustomer(app)
  await submit(app, own, { prompt: 'The one before' })
  for (const [width, hasToast] of [
    [390, true],
    [1280, false],
  ] as const) {
    const { page, close, screenshot } = await openConsole(browser, {
      app,
      as: own,
      path: '/videos',
      width,
      height: 600,
    })
    await prompt(page).fill(`Seen at ${width}`)
    const sent = page.waitForResponse((each) => each.request().method() === 'POST' && /videos$/.test(each.url()))
    await generate(page).click()
    await sent
    await page.getByText('Submitted. It is in the list.').first().waitFor({ state: 'attached' })
    const toast = page.getByRole('region', { name: /^Notifications/ })
    assert.equal(await toast.getByRole('button', { name: 'Show' }).count(), hasToast ? 1 : 0)
    if (hasToast) {
      const above = (await toast.getByRole('listitem').boundingBox())!
      const cost = (await page.locator('[data-cost]').boundingBox())!
      assert.ok(above.y >= 52, 'below the header')
      assert.ok(above.y + above.height < cost.y, 'covers neither the price nor the button below it')
      await screenshot('videos-submitted-390')
      await toast.getByRole('button', { name: 'Show' }).click()
      await page.waitForFunction(() => {
        const card = document.querySelector('ul [data-job-status]')
        const { top = -1, bottom = 0 } = card?.getBoundingClientRect() ?? {}
        return top > 52 && bottom <= innerHeight
      })
    }
    await app.tick()
    await close()
  }
})
