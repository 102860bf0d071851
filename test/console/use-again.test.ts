import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { samplePicture } from '../support/data/media.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { uploaded } from '../support/http/files-app.ts'
import { send } from '../support/http/send.ts'
import { submit } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

const MODELS = `
video_models:
  - { id: instant-1, name: Quick, engine: instant, per_second: "0.010000" }
  - { id: instant-2, name: Other, engine: instant, per_second: "0.010000" }
`

let app: TestApp
let browser: Browser
let picture: Uint8Array
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: MODELS })
  picture = await samplePicture()
})
after(() => app?.close())

const upload = async ({ key }: TestPerson, filename: string): Promise<string> =>
  (await uploaded({ url: app.url, key }, picture, { purpose: 'vision', filename })).id

test('a teammate uses a video again with its files in their order, wherever it was submitted', async () => {
  const owner = await newCustomer(app)
  const images = [{ file_id: await upload(owner, 'second.png') }, { file_id: await upload(owner, 'first.png') }]
  const { body: job } = await submit(app, owner, { references: { images } })
  const as = await newColleague(app, owner.org_id)
  const { page, close, screenshot } = await openConsole(browser, { app, as, path: `/videos/${job.id}` })
  const files = page.getByRole('definition').getByRole('listitem')
  await files.nth(1).waitFor()
  assert.deepEqual(await files.allInnerTexts(), ['Images: second.png', 'Images: first.png'])
  await screenshot('video-with-files')
  await page.getByRole('button', { name: 'Use again' }).click()
  const slot = page.getByRole('group', { name: 'Images' })
  await slot.getByText('first.png').waitFor()
  assert.deepEqual(await slot.getByRole('listitem').locator('[title]').allInnerTexts(), ['second.png', 'first.png'])
  const created = page.waitForResponse(
    (answer) => answer.request().method() === 'POST' && /variations$/.test(answer.url()),
  )
  await page.getByRole('button', { name: /^Generate/ }).click()
  assert.deepEqual((await (await created).json()).data[0].references, { images })
  await close()
})

/** Waits until the end of the prompt has the focus, and the page was scrolled to where it is in the window. */
const atEndOfPrompt = (page: Page) =>
  page.waitForFunction(() => {
    const area = document.activeElement
    if (!(area instanceof HTMLTextAreaElement) || area.name !== 'prompt') return false
    const { top, bottom } = area.getBoundingClientRect()
    return area.selectionStart === area.value.length && scrollY > 0 && top >= 52 && bottom <= innerHeight
  })

for (const [language, words] of [
  [
    'en',
    {
      again: 'Use again',
      heard: 'Copied to the form: prompt, Quick, 4 s, 16:9, 1 file.',
      another: 'Use another model',
      model: /Other/,
      extend: 'Extend',
    },
  ],
  [
    'ja',
    {
      again: '再利用',
      heard: 'フォームにコピーしました：プロンプト、Quick、4 秒、16:9、素材 1 点。',
      another: '別のモデルを使う',
      model: /Other/,
      extend: '続きを作る',
    },
  ],
] as const)
  test(`what was copied to the form is announced, and the end of the prompt has the focus in a narrow window (${language})`, async () => {
    const owner = await newCustomer(app)
    const image_reference = [{ file_id: await upload(owner, 'start.png'), role: 'first_frame' }]
    const { body: job } = await submit(app, owner, { image_reference, prompt: 'A heron\nwaits' })
    await app.tick()
    const path = `/videos/${job.id}`
    const { page, close } = await openConsole(browser, { app, as: owner, path, language, width: 390, height: 500 })
    await page.getByRole('button', { name: words.again }).click()
    await page.getByText(words.heard).first().waitFor({ timeout: 15000 })
    await atEndOfPrompt(page)
    assert.deepEqual(await findBarriers(page), [])
    await page.goBack()
    await page.getByRole('button', { name: words.extend }).click()
    await atEndOfPrompt(page)
    await page.goBack()
    await page.getByRole('button', { name: words.another }).click()
    await page.getByRole('menuitemradio', { name: words.model }).click()
    await atEndOfPrompt(page)
    await close()
  })

test('a file that is gone has its place in the form and says so, also after a reload, and nothing is sent without it', async () => {
  const owner = await newCustomer(app)
  const [start, end] = [await upload(owner, 'start.png'), await upload(owner, 'end.png')]
  const image_reference = [
    { file_id: start, role: 'first_frame' },
    { file_id: end, role: 'last_frame' },
  ]
  const { body: job } = await submit(app, owner, { image_reference })
  assert.equal((await send(app, 'DELETE', `/v1/files/${end}`, owner)).status, 200)
  const { page, close, allow } = await openConsole(browser, { app, as: owner, path: `/videos/${job.id}` })
  allow(/status of 404 .*\/v1\/files\//)
  await page.getByText('Last frame: deleted or expired').waitFor({ state: 'attached' })
  await page.getByRole('button', { name: 'Use again' }).click()
  for (const reload of [false, true]) {
    if (reload) await page.reload()
    await page.getByRole('group', { name: 'First frame' }).getByText('start.png').waitFor()
    const empty = page.getByRole('group', { name: 'Last frame' })
    await empty.getByText('Last frame 1 of the earlier video').waitFor()
    await empty.getByText('This file was deleted or has expired. Remove it and upload it again.').waitFor()
    assert.equal(await page.getByRole('button', { name: /^Generate/ }).getAttribute('aria-disabled'), 'true')
  }
  assert.deepEqual(await findBarriers(page), [])
  await close()
})

test('a video is not used again without its files when they cannot be read', async () => {
  const owner = await newCustomer(app)
  const image_reference = [{ file_id: await upload(owner, 'start.png'), role: 'first_frame' }]
  const { body: job } = await submit(app, owner, { image_reference, prompt: 'A boat' })
  const { page, close, allow } = await openConsole(browser, { app, as: owner, path: '/keys' })
  allow(/ERR_FAILED/)
  await page.route(`**/v1/files/${image_reference[0]!.file_id}`, (route) => route.abort())
  await page.goto(`${app.url}/videos/${job.id}`)
  await page.getByRole('button', { name: 'Use again' }).click()
  await page.getByText('The files of this video could not be read. Try again.', { exact: true }).waitFor()
  assert.equal(new URL(page.url()).pathname, `/videos/${job.id}`)
  await close()
})

test('an example that replaces a repeated request is made from no clip', async () => {
  const owner = await newCustomer(app)
  const { body: job } = await submit(app, owner, { prompt: 'A crane' })
  await app.tick()
  const { page, close } = await openConsole(browser, { app, as: owner, path: `/videos/${job.id}` })
  await page.getByRole('button', { name: 'Use again' }).click()
  await atPrompt(page, 'A crane')
  await page.goto(`${app.url}/keys`)
  assert.equal((await send(app, 'DELETE', `/v1/videos/${job.id}`, owner)).status, 200)
  await page.goto(`${app.url}/videos`)
  await atPrompt(page, 'A crane')
  await page.getByRole('button', { name: /A quiet scene/ }).click()
  const sent = page.waitForRequest((each) => each.method() === 'POST' && /videos(\/variations)?$/.test(each.url()))
  await page.getByRole('button', { name: /^Generate/ }).click()
  const body = (await sent).postDataJSON()
  assert.notEqual(body.prompt, 'A crane')
  assert.equal(body.made_from, undefined)
  await close()
})

const atPrompt = (page: Page, text: string) =>
  page.waitForFunction(
    (wanted) => document.querySelector<HTMLTextAreaElement>('textarea[name=prompt]')?.value === wanted,
    text,
  )
