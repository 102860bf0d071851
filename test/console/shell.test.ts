import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { CLIENT_PATHS } from '../../server/console/assets.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
let person: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app?.close())

/** Pages of the console that everybody who is signed in sees, as the side names them. */
const PLACES = [
  ['/videos', 'Videos'],
  ['/chat', 'Chat'],
  ['/files', 'Files'],
  ['/keys', 'API keys'],
  ['/webhooks', 'Webhooks'],
  ['/usage', 'Usage'],
  ['/billing', 'Billing'],
  ['/members', 'Members'],
  ['/guides', 'Docs'],
  ['/settings', 'Settings'],
] as const

/** What has the focus once a page is open: its title, or the box of messages. */
const beginOf = (page: Page, path: string) =>
  path === '/chat'
    ? page.getByRole('textbox', { name: /^(Your message|メッセージ)/ })
    : page.locator('[data-page-title]')
const opened = (page: Page, path: string) =>
  beginOf(page, path).and(page.locator(':focus')).waitFor({ state: 'attached' })
const widthOf = (page: Page) => page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth] as const)

test('every page opens from the side by keyboard, takes the focus to its title or message box and names the tab', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/settings' })
  for (const [path, name] of PLACES) {
    const link = page.getByRole('navigation').getByRole('link', { name, exact: true })
    await link.focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**${path}`)
    await opened(page, path)
    assert.equal(await link.getAttribute('aria-current'), 'page')
    assert.match(await page.title(), / · Kinora$/)
  }
  await close()
})

test('every page of the console is one that the service answers, and the other way round', async () => {
  const served = CLIENT_PATHS.filter((path) => path !== '/sign-in' && !path.startsWith('/invitations/'))
  assert.deepEqual(PLACES.map(([path]) => path).sort(), served)
})

test('a file that is dropped beside a field never replaces the page', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/videos' })
  for (const selector of ['body', 'textarea', 'nav a']) {
    const ignored = await page
      .locator(selector)
      .first()
      .evaluate((target) =>
        ['dragover', 'drop'].map((type) => {
          const dataTransfer = new DataTransfer()
          dataTransfer.items.add(new File(['text'], 'a.txt', { type: 'text/plain' }))
          const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true })
          return !target.dispatchEvent(event)
        }),
      )
    assert.deepEqual(ignored, [true, true], selector)
  }
  await close()
})

test('the first Tab of a page leads past the navigation', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/files' })
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement?.closest('aside')), null)
  await close()
})

test('the chosen language and theme are there again after a reload', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, path: '/sign-in' })
  await page.getByRole('combobox', { name: 'Language' }).selectOption('ja')
  await page.getByRole('button', { name: 'サインイン' }).waitFor()
  await page.getByRole('radio', { name: 'ダーク' }).click()
  const look = () =>
    page.evaluate(() => [document.documentElement.lang, getComputedStyle(document.documentElement).colorScheme])
  assert.deepEqual(await look(), ['ja', 'dark'])
  await page.reload()
  await page.getByRole('button', { name: 'サインイン' }).waitFor()
  assert.deepEqual(await look(), ['ja', 'dark'])
  await screenshot('sign-in-ja-dark')
  await close()
})

test('Japanese lines break between phrases, but not in what is being typed', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/videos', language: 'ja' })
  const breaks = (name: string) =>
    page
      .locator(name)
      .first()
      .evaluate((element) => getComputedStyle(element).wordBreak)
  await page.locator('textarea').waitFor()
  assert.equal(await breaks('textarea'), 'auto-phrase', 'its placeholder')
  await page.locator('textarea').fill('紙の舟')
  assert.deepEqual([await breaks('main button'), await breaks('textarea')], ['auto-phrase', 'normal'])
  await close()
})

test('a page that opens while a language loads has its texts in it', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/settings', cold: true })
  const loaded = Promise.withResolvers<void>()
  await page.route('**/assets/*.js', async (route) => {
    const response = await route.fetch()
    if (/[ぁ-ん]/.test(await response.text())) await loaded.promise
    await route.fulfill({ response })
  })
  await page.getByRole('combobox', { name: 'Language' }).selectOption('ja')
  await page.getByRole('link', { name: 'API keys' }).click()
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
  loaded.resolve()
  await page.locator('html[lang=ja]').waitFor({ state: 'attached' })
  assert.match(await page.locator('[data-page-title]').innerText(), /[ァ-ン一-龠]/)
  await close()
})

test('nothing scrolls sideways from 360 to 2560 pixels, and axe-core finds no barrier, in both themes and languages', async () => {
  const looks = firstUnlessCheck([
    { width: 1280, theme: 'light', language: 'en', barriers: true },
    { width: 360, theme: 'dark', language: 'ja', barriers: true },
    { width: 768, theme: 'dark', language: 'en', barriers: false },
    { width: 2560, theme: 'light', language: 'ja', barriers: false },
  ] as const)
  for (const look of looks) {
    const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/settings', ...look })
    for (const [path] of PLACES) {
      // As a link does, without loading the console again.
      await page.evaluate((to) => history.pushState({}, '', to), path)
      await opened(page, path)
      const [scroll, inner] = await widthOf(page)
      assert.ok(scroll <= inner, `${path} is ${scroll} wide in ${inner}`)
      if (look.barriers) assert.deepEqual(await findBarriers(page), [], `${path} at ${look.width} in ${look.theme}`)
      await screenshot(`shell-${path.slice(1)}-${look.width}-${look.theme}-${look.language}`)
    }
    await close()
  }
})

test('nothing scrolls sideways while lists are loading', async () => {
  for (const width of [360, 768, 1280]) {
    const { page, close } = await openConsole(browser, { app, as: person, path: '/settings', width })
    // Never answered.
    await page.route('**/v1/**', () => {})
    for (const [path] of PLACES) {
      await page.evaluate((to) => history.pushState({}, '', to), path)
      await page.locator('[data-page-title]:focus').waitFor({ state: 'attached' })
      const [scroll, inner] = await widthOf(page)
      assert.ok(scroll <= inner, `${path} is ${scroll} wide in ${inner}`)
    }
    await close()
  }
})

test('on a narrow screen the navigation is a drawer that opens, navigates and closes', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, width: 360 })
  await page.getByRole('button', { name: 'Open navigation' }).click()
  const drawer = page.getByRole('dialog')
  await drawer.waitFor()
  await screenshot('drawer')
  assert.deepEqual(await findBarriers(page), [])
  await drawer.getByRole('link', { name: 'Billing' }).click()
  await page.waitForURL('**/billing')
  await drawer.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Open navigation' }).click()
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  await close()
})

test('a mark and a word are shown while the first script loads, in the language of the reader', async () => {
  for (const [language, word, other] of [
    ['en', 'Loading…', '読み込んでいます…'],
    ['ja', '読み込んでいます…', 'Loading…'],
  ] as const) {
    const { context, close } = await openConsole(browser, { app, as: person, language })
    // A page of its own: leaving the one just opened would break off the scripts it still loads.
    const page = await context.newPage()
    let release = () => {}
    let asked = false
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await context.route(/\/assets\/main-[\w-]+\.js$/, async (route) => {
      asked = true
      await held
      await route.continue()
    })
    await page.goto(`${app.url}/keys`, { waitUntil: 'commit' })
    const status = page.getByRole('status').filter({ hasText: word })
    await status.locator('img').waitFor()
    // The browser shows nothing before the style sheet, which hides the other language, but lets a script read both.
    await page.getByText(other).waitFor({ state: 'hidden' })
    const seen = await status.innerText()
    assert.equal(seen.trim(), word)
    assert.ok(asked)
    release()
    await page.locator('[data-page-title]').waitFor()
    assert.equal(await page.getByText(word).count(), 0)
    await close()
  }
})

test('an address that does not exist is a page with a way back, for everybody', async () => {
  for (const who of [{ as: person }, {}]) {
    const { page, close, allow, screenshot } = await openConsole(browser, { app, path: '/nosuch', ...who })
    allow(/status of 404 .*\/nosuch/)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`nosuch-${'as' in who ? 'in' : 'out'}`)
    allow(/status of 401/)
    await page.getByRole('link', { name: 'Go to videos' }).click()
    await page.waitForURL(/\/(videos|sign-in\?return=)/)
    await close()
  }
})

test('the account menu opens by keyboard and leads to the way out', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: person })
  await page.getByRole('button', { name: /^Account/ }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
  await screenshot('account-menu')
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'detached' })
  await close()
})

test('a page whose code does not load says that the service does not respond, and loads on retry', async () => {
  const { page, context, allow, close } = await openConsole(browser, { app, as: person, path: '/keys', cold: true })
  allow(/ERR_INTERNET_DISCONNECTED|network_failed/)
  await context.setOffline(true)
  await page.getByRole('link', { name: 'Billing' }).click()
  await page.getByText('The service did not respond.').waitFor()
  await context.setOffline(false)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { name: 'Billing' }).waitFor()
  await close()
})
