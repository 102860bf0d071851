import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { startApp, type TestApp } from '../support/http/app.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser } from './browser/browser.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp()
})
after(() => app?.close())

/** A page that the service writes itself, as a browser of this width and language shows it. */
async function open(path: string, look: { width: number; locale: string }) {
  const context = await browser.newContext({ viewport: { width: look.width, height: 800 }, locale: look.locale })
  const page = await context.newPage()
  await page.goto(app.url + path)
  const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const)
  assert.ok(scroll <= inner, `${path} is ${scroll} wide in ${inner}`)
  assert.deepEqual(await findBarriers(page), [])
  const folder = process.env.KINORA_SCREENSHOTS
  if (folder)
    await page.screenshot({ path: `${folder}/page${path.replaceAll('/', '-')}-${look.width}-${look.locale}.png` })
  return { page, close: () => context.close() }
}

const LOOKS = [
  { width: 390, locale: 'en', contents: 'Contents', back: 'Back to the console' },
  { width: 390, locale: 'ja', contents: '目次', back: 'コンソールへ戻る' },
  { width: 1280, locale: 'en', contents: 'Contents', back: 'Back to the console' },
] as const

for (const { contents, back, ...look } of firstUnlessCheck(LOOKS)) {
  const { width, locale } = look
  test(`the API page at ${width} pixels in ${locale} leads to a call, with a body, and back to the console`, async () => {
    const { page, close } = await open('/docs', look)
    const target = page.locator('#postVideos')
    const list = page.getByRole('navigation', { name: contents })
    if (width < 800) {
      assert.equal(await list.count(), 0)
      assert.ok((await page.locator('h1').boundingBox())!.y < 400, 'the contents do not push the page away')
      await page.locator('summary').getByText(contents).click()
    }
    assert.equal(await list.count(), 1)
    await list.getByRole('link', { name: /POST \/videos$/ }).click()
    await target.locator('summary').click()
    assert.match(await target.locator('pre').innerText(), /-d '\{\n {2}"model": "storyboard-1",/)
    await page.getByRole('link', { name: back }).click()
    await page.waitForURL((url) => !url.pathname.startsWith('/docs'))
    await close()
  })
}

test('the terms of the service are readable in both languages, on a phone too, and link to each other', async () => {
  const { page, close } = await open('/terms', { width: 390, locale: 'ja' })
  await page.getByRole('heading', { level: 1, name: '動画の利用規約' }).waitFor()
  await page.getByRole('link', { name: 'English' }).click()
  await page.getByRole('heading', { level: 1, name: 'Video terms' }).waitFor()
  await page.getByText(`Version ${app.ctx.config.terms.version}`).waitFor()
  await page.getByRole('link', { name: '日本語' }).click()
  await page.getByRole('heading', { level: 1, name: '動画の利用規約' }).waitFor()
  await close()
})

for (const path of ['/docs', '/terms'])
  test(`${path} has the theme and the language that were chosen in the console, and a choice made there is the console's too`, async () => {
    const context = await browser.newContext({ locale: 'en', colorScheme: 'light' })
    const page = await context.newPage()
    const faults: string[] = []
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    await page.goto(`${app.url}/sign-in`)
    await page.getByRole('radio', { name: 'Dark' }).click()
    await page.getByRole('combobox', { name: 'Language' }).selectOption('ja')
    await page.getByRole('button', { name: 'サインイン' }).waitFor()
    const dark = await background()
    await page.goto(app.url + path)
    await page.waitForURL(`**${path}?lang=ja`)
    assert.equal(await page.locator('html').getAttribute('lang'), 'ja')
    assert.equal(await background(), dark)
    assert.deepEqual(await findBarriers(page), [])
    await page.getByRole('button', { name: 'ライト', exact: true }).click()
    assert.equal(await page.getByRole('button', { name: 'ライト', pressed: true }).count(), 1)
    assert.deepEqual(await findBarriers(page), [])
    const light = await background()
    await page.getByRole('link', { name: 'English' }).click()
    await page.waitForURL(`**${path}?lang=en`)
    await page.getByRole('link', { name: 'Back to the console' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    assert.equal(await background(), light)
    assert.notEqual(light, dark)
    await page.goto(app.url + path)
    await page.getByRole('button', { name: 'System' }).click()
    await page.emulateMedia({ colorScheme: 'dark' })
    assert.equal(await background(), dark)
    assert.deepEqual(
      faults.filter((text) => !/401/.test(text)),
      [],
    )
    await context.close()
  })
