import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Locator } from 'playwright-core'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { storedFile, submit } from '../support/http/videos-app.ts'
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

async function openForced(path: string) {
  const opened = await openConsole(browser, { app, as: person, path })
  await opened.page.emulateMedia({ forcedColors: 'active' })
  return opened
}

const styleOf = (control: Locator) =>
  control.first().evaluate((element) => {
    const { color, backgroundColor, outlineStyle, borderTopColor } = getComputedStyle(element)
    return { color, backgroundColor, outlineStyle, borderTopColor }
  })

/** The chosen one has the system's pair of colors, as text of its own has; the other has not. */
async function requireDistinct(chosen: Locator, other: Locator): Promise<void> {
  const [on, off] = [await styleOf(chosen), await styleOf(other)]
  assert.notEqual(on.backgroundColor, off.backgroundColor)
  assert.notEqual(on.color, on.backgroundColor)
  const inside = chosen.first().locator('span, svg').first()
  if ((await inside.count()) > 0) assert.equal((await styleOf(inside)).color, on.color)
}

test('where the system forces its colors, what is chosen and how far something is can be seen', async () => {
  const { page, close, screenshot } = await openForced('/videos')
  const radio = (name: string) => page.getByRole('radio', { name, exact: true })
  await radio('Text only').waitFor()
  // A segmented control, radio cards, navigation.
  await requireDistinct(radio('Text only'), radio('Frames'))
  await requireDistinct(radio('16:9, widescreen'), radio('1:1, square'))
  const navigation = page.getByRole('navigation')
  await requireDistinct(
    navigation.getByRole('link', { name: 'Videos' }),
    navigation.getByRole('link', { name: 'Files' }),
  )
  // A slider.
  const slider = page.getByRole('slider')
  await requireDistinct(page.locator('[data-filled]'), page.locator('[data-track]'))
  await slider.focus()
  await page.keyboard.press('ArrowRight')
  assert.notEqual((await styleOf(slider)).outlineStyle, 'none')
  // A menu's item, and the focus ring of a button.
  await page.getByRole('button', { name: /^Model/ }).press('Enter')
  const items = page.getByRole('menuitemradio')
  await items.and(page.locator('[data-highlighted]')).waitFor()
  assert.notEqual((await styleOf(items)).backgroundColor, (await styleOf(page.getByRole('menu'))).backgroundColor)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Dialogue', exact: true }).focus()
  await page.keyboard.press('Shift+Tab')
  assert.notEqual((await styleOf(page.locator(':focus'))).outlineStyle, 'none')
  await screenshot('forced-videos')
  await close()
})

test('where the system forces its colors, tabs, chosen files and progress can be seen', async () => {
  await storedFile(app, person, { purpose: 'vision' })
  await storedFile(app, person, { purpose: 'vision' })
  const { body } = await submit(app, person)
  const { page, close, screenshot, allow } = await openForced('/guides')
  // The bytes of these files are nowhere.
  allow(/status of 500.*content/)
  const tabs = page.getByRole('tab')
  await requireDistinct(tabs.and(page.locator('[aria-selected=true]')), tabs.and(page.locator('[aria-selected=false]')))
  await screenshot('forced-guides')
  await page.goto(`${app.url}/videos/${body.id}`)
  const bar = page.getByRole('progressbar')
  await bar.waitFor()
  await requireDistinct(bar.locator('> *'), bar)
  const steps = page.getByRole('listitem')
  const [now, later] = [await styleOf(page.locator('[aria-current=step]')), await styleOf(steps.last())]
  assert.notEqual(now.borderTopColor, later.borderTopColor)
  await page.goto(`${app.url}/videos`)
  await page.getByRole('radio', { name: 'References' }).click()
  await page.getByRole('group', { name: 'Images' }).getByRole('button', { name: 'From your files' }).click()
  const choices = page.getByRole('dialog').locator('button[aria-pressed]')
  await choices.first().click()
  await requireDistinct(
    choices.and(page.locator('[aria-pressed=true]')),
    choices.and(page.locator('[aria-pressed=false]')),
  )
  await screenshot('forced-picker')
  await close()
})
