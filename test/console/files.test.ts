import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { samplePicture } from '../support/data/media.ts'
import { samplePdf } from '../support/data/pdf.ts'
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

/** Names that would run or break out where text is put into a page without care. */
const HOSTILE = [
  '<img src=x onerror=alert(1)>.txt',
  '"><script>alert(1)<_script>.txt',
  "'-alert(1)-'.txt",
  '{{constructor.constructor("alert(1)")()}}.txt',
  'javascript:alert(1).txt',
]

async function stored(owner: TestPerson, name: string, content: Uint8Array<ArrayBuffer>, purpose = 'user_data') {
  const form = new FormData()
  form.set('purpose', purpose)
  form.set('file', new File([content], name))
  const headers = { cookie: owner.cookie }
  const response = await fetch(`${app.url}/v1/files`, { method: 'POST', headers, body: form })
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as { id: string; filename: string }
}

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text))
const choose = (page: Page, files: Array<{ name: string; mimeType: string; buffer: Buffer }>) =>
  page.locator('input[type=file]').setInputFiles(files)
const opener = (page: Page, name: string) => page.getByRole('table').getByRole('button', { name, exact: true })

test('an image is uploaded with the detected purpose, previewed and deleted', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/files' })
  await page.getByRole('heading', { name: 'No files yet' }).waitFor()
  await screenshot('files-empty')
  await choose(page, [{ name: 'boat.png', mimeType: 'image/png', buffer: Buffer.from(await samplePicture()) }])
  await opener(page, 'boat.png').waitFor()
  await page.getByRole('cell', { name: 'Image' }).waitFor()
  await page.getByRole('list', { name: 'Uploads' }).waitFor({ state: 'detached' })
  await opener(page, 'boat.png').press('Enter')
  const dialog = page.getByRole('dialog', { name: 'boat.png' })
  await dialog.getByRole('img', { name: 'boat.png' }).waitFor()
  await page.waitForFunction(() => document.querySelector<HTMLImageElement>('[role=dialog] img')?.naturalWidth === 320)
  await screenshot('files-preview')
  assert.deepEqual(await findBarriers(page), [])
  const download = page.waitForEvent('download')
  await dialog.getByRole('link', { name: 'Download' }).click()
  assert.equal((await download).suggestedFilename(), 'boat.png')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No files yet' }).waitFor()
  await close()
})

test('files of the wrong type or too large are refused before a byte is sent', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/files' })
  const sent: string[] = []
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()))
  await page.getByText('Up to 100 MB each').waitFor()
  await page.getByLabel('Purpose', { exact: true }).selectOption('vision')
  await page.getByText('up to 50 megapixels').waitFor()
  await choose(page, [{ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('words') }])
  await page.getByText('does not accept this type of file').waitFor()
  await choose(page, [{ name: 'empty.png', mimeType: 'image/png', buffer: Buffer.alloc(0) }])
  await page.getByText('The file is empty.').waitFor()
  await page.locator('input[type=file]').evaluate((input: HTMLInputElement) => {
    const files = new DataTransfer()
    files.items.add(new File([new Uint8Array(100_000_001)], 'large.png', { type: 'image/png' }))
    input.files = files.files
    input.dispatchEvent(new Event('change', { bubbles: true }))
  })
  await page.getByText('The file is larger than 100 MB.').waitFor()
  await screenshot('files-refused')
  await page.getByRole('button', { name: 'Dismiss a.txt' }).click()
  await page.getByRole('button', { name: 'Dismiss large.png' }).click()
  assert.deepEqual(sent, [])
  await close()
})

test('uploads offer only the purposes that this service uses; the filter offers all that exist', async () => {
  const owner = await newCustomer(app)
  await stored(owner, 'requests.txt', bytesOf('x'), 'batch')
  const { page, close } = await openConsole(browser, { app, as: owner, path: '/files' })
  await opener(page, 'requests.txt').waitFor()
  const options = (label: string) =>
    page
      .getByLabel(label, { exact: true })
      .evaluate((select) => [...(select as HTMLSelectElement).options].map(({ value }) => value))
  const served = ['vision', 'video', 'audio', 'user_data']
  assert.deepEqual(await options('Purpose'), ['auto', ...served])
  assert.deepEqual(await options('Filter by purpose'), ['', ...served, 'batch'])
  await close()
})

test('a refusal of the service is shown with the file, which can be sent again', async () => {
  const { page, close, allow } = await openConsole(browser, { app, as: person, path: '/files' })
  allow(/status of 400 .*\/v1\/files\)$/)
  await choose(page, [{ name: 'no.png', mimeType: 'image/png', buffer: Buffer.from('not a picture') }])
  await page.getByRole('alert').getByText('The content of the file does not match its type').waitFor()
  await page.getByRole('button', { name: 'Retry no.png' }).click()
  await page.getByRole('alert').getByText('The content of the file does not match its type').waitFor()
  await close()
})

test('texts and PDFs are previewed; hostile names and texts are shown as plain text', async () => {
  const reader = await newCustomer(app)
  const script = '<script>alert("a text")</script>'
  const hostile: string[] = []
  for (const name of HOSTILE) hostile.push((await stored(reader, name, bytesOf(script))).filename)
  await stored(reader, 'report.pdf', new Uint8Array(samplePdf()))
  await stored(reader, 'noise.bin', Uint8Array.from([0, 255, 254, 1]))
  const { page, close } = await openConsole(browser, { app, as: reader, path: '/files' })
  page.on('dialog', () => assert.fail('a script of a file ran'))
  for (const name of hostile) {
    await opener(page, name).click()
    await page.getByRole('dialog', { name, exact: true }).getByText(script).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  await opener(page, 'noise.bin').click()
  await page.getByText('No preview available').waitFor()
  await page.keyboard.press('Escape')
  await opener(page, 'report.pdf').click()
  const link = page.getByRole('link', { name: 'Open PDF' })
  await page.locator('a[href^="blob:"]').waitFor()
  assert.match((await link.getAttribute('href'))!, /^blob:http:/)
  await close()
})

test('a button loads more files, a purpose filters the list, and the menu copies the ID', async () => {
  const owner = await newCustomer(app)
  for (let i = 1; i <= 51; i++) await stored(owner, `note-${i}.txt`, bytesOf('x'), i === 1 ? 'batch' : 'user_data')
  const { page, context, close } = await openConsole(browser, { app, as: owner, path: '/files' })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await opener(page, 'note-51.txt').waitFor()
  assert.equal(await opener(page, 'note-1.txt').count(), 0)
  await page.getByRole('button', { name: 'Load more' }).click()
  await opener(page, 'note-1.txt').waitFor()
  await page.getByLabel('Filter by purpose').selectOption('batch')
  await opener(page, 'note-51.txt').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Actions for note-1.txt' }).press('Enter')
  await page.getByRole('menuitem', { name: 'Copy ID' }).press('Enter')
  await page.getByText('ID copied').first().waitFor()
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^file-/)
  await page.getByLabel('Filter by purpose').selectOption('audio')
  await page.getByRole('heading', { name: 'No files with this purpose' }).waitFor()
  await close()
})

test('in both languages and themes, from 360 to 2560 pixels, nothing scrolls sideways and axe-core finds no barrier', async () => {
  const owner = await newCustomer(app)
  await stored(owner, `${'a-very-long-name-without-an-end-'.repeat(4)}.txt`, bytesOf('words'))
  await stored(owner, 'boat.png', new Uint8Array(await samplePicture()), 'vision')
  const looks = firstUnlessCheck([
    { width: 1280, theme: 'light', language: 'en', title: 'Files' },
    { width: 360, theme: 'dark', language: 'ja', title: 'ファイル' },
    { width: 2560, theme: 'dark', language: 'en', title: 'Files' },
    { width: 360, theme: 'light', language: 'en', title: 'Files' },
  ] as const)
  for (const { title, ...look } of looks) {
    const { page, close, screenshot } = await openConsole(browser, { app, as: owner, path: '/files', ...look })
    await page.getByRole('heading', { name: title, exact: true }).waitFor()
    await opener(page, 'boat.png').waitFor()
    const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth])
    assert.ok(scroll! <= inner!, `${scroll} wide in ${inner}`)
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`files-${look.width}-${look.theme}-${look.language}`)
    await close()
  }
})
