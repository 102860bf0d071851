import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { insertEndedJobs } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp()
})
after(() => app?.close())

const name = (number: number) => `A boat, number ${number} of many`
const card = (page: Page, number: number) => page.locator('a[data-job-status]', { hasText: name(number) })
const hasFocus = (control: Locator) => control.and(control.page().locator(':focus')).waitFor()

for (const [language, words] of [
  ['en', { more: 'More actions', deleted: 'Video deleted.', key: 'Undo: Ctrl+Z', undo: 'Undo' }],
  ['ja', { more: 'その他の操作', deleted: '動画を削除しました。', key: '元に戻す：Ctrl+Z', undo: '元に戻す' }],
] as const)
  test(`a video deleted from its page by keyboard leaves the focus on the next card, and is focused after its undo (${language})`, async () => {
    const own = await newCustomer(app)
    const first = language === 'en' ? 0x60001 : 0x61001
    await insertEndedJobs(app.database, own, 3, first)
    const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos', language })
    await card(page, first + 1).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/videos/video_*')
    await page.getByRole('button', { name: words.more }).press('Enter')
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await hasFocus(card(page, first))
    const toast = page.getByRole('listitem').filter({ hasText: words.deleted })
    await toast.getByText(words.key).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`videos-deleted-${language}`)
    await page.keyboard.press('Control+z')
    await hasFocus(card(page, first + 1))
    await close()
  })

test('selected videos that are deleted leave the focus on the next box, the pointer stops the time, and the first is focused after Undo', async () => {
  const own = await newCustomer(app)
  const first = 0x62001
  await insertEndedJobs(app.database, own, 4, first)
  const { page, close } = await openConsole(browser, { app, as: own, path: '/videos' })
  const box = (number: number) => page.getByRole('checkbox', { name: `Select: ${name(number)}`, exact: true })
  const sent: string[] = []
  page.on('request', (request) => request.method() === 'DELETE' && sent.push(request.url()))
  await card(page, first).waitFor()
  await page.clock.install()
  await page.getByRole('button', { name: 'Select', exact: true }).press('Enter')
  await box(first + 2).press('Space')
  await box(first + 1).press('Space')
  await page.getByRole('button', { name: 'Delete 2' }).press('Enter')
  await hasFocus(box(first))
  const undo = page.getByRole('button', { name: 'Undo' })
  await page.getByRole('listitem').filter({ has: undo }).hover()
  await page.clock.runFor(60_000)
  assert.deepEqual(sent, [])
  await undo.press('Enter')
  await hasFocus(box(first + 2))
  assert.deepEqual(sent, [])
  await close()
})
