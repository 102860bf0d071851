import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { pngHeader, samplePicture } from '../support/data/media.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
let person: TestPerson
let picture: Buffer
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  person = await newCustomer(app)
  picture = Buffer.from(await samplePicture())
})
after(() => app?.close())

const png = (name: string, buffer: Buffer) => ({ name, mimeType: 'image/png', buffer })
const refusal = (page: Page, text: RegExp | string) => page.getByRole('alert').getByText(text)

test('a refused image shows its specific cause: damaged, wrong type or too large', async () => {
  const { page, close, allow } = await openConsole(browser, { app, as: person, path: '/files' })
  allow(/status of 400/)
  const choose = (file: ReturnType<typeof png>) => page.locator('input[type=file]').setInputFiles([file])
  await choose(png('cut.png', picture.subarray(0, 20)))
  await refusal(page, 'The image is damaged or incomplete. Export it again.').waitFor()
  await choose(png('named.png', Buffer.from('<!doctype html>')))
  await refusal(page, 'The content of the file does not match its type.').waitFor()
  await choose(png('huge.png', Buffer.from(pngHeader(10_000, 10_000))))
  await refusal(page, 'The image has more than 50 megapixels. Resize it first.').waitFor()
  assert.equal(await page.getByText(/empty, damaged, gone/).count(), 0)
  await close()
})

test('a damaged frame of a video shows its cause in Japanese as well', async () => {
  const look = { language: 'ja', path: '/videos' } as const
  const { page, close, allow } = await openConsole(browser, { app, as: person, ...look })
  allow(/status of 400/)
  await page.getByText('フレーム', { exact: true }).click()
  const file = png('cut.png', picture.subarray(0, 20))
  await page.getByRole('group', { name: '最初のフレーム' }).locator('input[type=file]').setInputFiles([file])
  await page.getByText('画像が破損しているか、不完全です。書き出し直してください。').waitFor()
  await close()
})

test('a job that failed because of an image says so, and does not mention videos or audio', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/videos' })
  await page.getByRole('textbox', { name: 'Prompt' }).fill('A boat')
  await page.getByText('Frames', { exact: true }).click()
  const frame = page.getByRole('group', { name: 'First frame' })
  await frame.locator('input[type=file]').setInputFiles([png('frame.png', picture)])
  const accepted = page.waitForResponse((each) => each.request().method() === 'POST' && /v1\/videos$/.test(each.url()))
  await page.getByRole('button', { name: /^Generate/ }).click()
  const { id } = await (await accepted).json()
  // By then the page has stored which files it sent.
  await page.getByText('Submitted. It is in the list.').waitFor({ state: 'attached' })
  // The engines of tests look into no picture: the answer is what it is where one does.
  await page.route(`**/v1/videos/${id}`, async (route) => {
    const job = await (await route.fetch()).json()
    const error = { code: 'invalid_reference_media', message: 'A reference could not be used.' }
    await route.fulfill({ json: { ...job, status: 'failed', error } })
  })
  await page.goto(`${app.url}/videos/${id}`)
  await page.getByText('An image could not be used because it is damaged or incomplete.').waitFor()
  await page.getByText('Export the image again and upload it again.').waitFor()
  assert.doesNotMatch(await page.locator('main').innerText(), /video or audio|Videos and audio/)
  await close()
})
