import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { samplePicture } from '../support/data/media.ts'
import { newCustomer, type TestApp } from '../support/http/app.ts'
import { uploaded } from '../support/http/files-app.ts'
import { send } from '../support/http/send.ts'
import { drawVariants, jobsOf, submit } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'
import { completed, promptsOf, startTwoModels } from './two-models.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startTwoModels()
})
after(() => app?.close())

for (const [language, words] of [
  [
    'en',
    {
      extend: 'Extend',
      done: 'Describe what happens next.',
      continues: 'Continues “A swan”: describe what happens next.',
      text: 'Text only',
      frames: 'Frames',
      frame: 'First frame',
      named: 'Last frame of “A swan”',
      prompt: 'Prompt',
      from: 'Made from',
      renamed: 'Pond',
    },
  ],
  [
    'ja',
    {
      extend: '続きを作る',
      done: '続きの場面を書いてください。',
      continues: '「A swan」の続きです。次に起きることを書いてください。',
      text: 'テキストのみ',
      frames: 'フレーム',
      frame: '最初のフレーム',
      named: '「A swan」の最後のフレーム',
      prompt: 'プロンプト',
      from: '元の動画',
      renamed: '池',
    },
  ],
] as const)
  test(`a clip is extended: its last frame is the first one of a request without a prompt (${language})`, async () => {
    const own = await newCustomer(app)
    const id = await completed(app, own, { prompt: 'A swan', seconds: 6, aspect_ratio: '9:16' })
    const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: `/videos/${id}`, language })
    await page.getByRole('button', { name: words.extend }).click()
    await page.getByText(words.done).first().waitFor()
    await page.getByRole('group', { name: words.frame }).getByText(words.named).waitFor()
    const field = page.getByRole('textbox', { name: words.prompt })
    assert.equal(await field.inputValue(), '')
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`videos-extend-${language}`)
    await page.reload()
    await page.getByText(words.continues).waitFor()
    await page.getByRole('radio', { name: words.text }).click()
    await page.getByText(words.continues).waitFor({ state: 'detached' })
    await page.getByRole('group', { name: words.frame }).waitFor({ state: 'detached' })
    await page.getByRole('radio', { name: words.frames }).click()
    await page.getByText(words.continues).waitFor()
    await field.fill('It flies off')
    const created = page.waitForResponse((each) => each.request().method() === 'POST' && /variations$/.test(each.url()))
    await page.keyboard.press('Control+Enter')
    const [{ id: extended, image_reference, seconds, aspect_ratio }] = (await (await created).json()).data
    await page.getByText(words.continues).waitFor({ state: 'detached' })
    assert.equal(await field.inputValue(), 'It flies off')
    assert.equal(await page.getByRole('radio', { name: words.text }).getAttribute('aria-checked'), 'true')
    const [file] = (await send(app, 'GET', '/v1/files', own)).body.data
    assert.deepEqual(image_reference, [{ file_id: file.id, role: 'first_frame' }])
    assert.deepEqual({ seconds, aspect_ratio }, { seconds: 6, aspect_ratio: '9:16' })
    await app.tick()
    await drawVariants(app)
    await page.goto(`${app.url}/videos/${extended}`)
    const origin = page.locator('dl > div').filter({ hasText: words.from })
    await origin.getByRole('link', { name: 'A swan' }).waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: `${words.frame}: ${words.named}` })
      .waitFor()
    const change = { ids: [id], name: words.renamed }
    assert.equal((await send(app, 'PATCH', '/console/videos/labels', { cookie: own.cookie }, change)).status, 200)
    await page.reload()
    await screenshot(`video-made-from-${language}`)
    await origin.getByRole('link', { name: words.renamed }).click()
    await page.waitForURL(`**/videos/${id}`)
    await page.goto(`${app.url}/keys`)
    await send(app, 'DELETE', `/v1/videos/${id}`, own)
    await page.goto(`${app.url}/videos/${extended}`)
    await origin.getByText('A swan').waitFor()
    assert.equal(await origin.getByRole('link').count(), 0)
    await page.goto(`${app.url}/files`)
    await page.getByRole('button', { name: words.named, exact: true }).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await close()
  })

for (const [language, words] of [
  ['en', { extend: 'Extend', busy: 'Extracting the last frame…', frame: 'First frame' }],
  ['ja', { extend: '続きを作る', busy: '最後のフレームを取り出しています…', frame: '最初のフレーム' }],
] as const)
  test(`on a phone the button says that the last frame is fetched, and then the frame is in sight (${language})`, async () => {
    const own = await newCustomer(app)
    const path = `/videos/${await completed(app, own)}`
    const size = { width: 390, height: 700 }
    const { page, close, screenshot } = await openConsole(browser, { app, as: own, path, language, ...size })
    const { promise: asked, resolve: goOn } = Promise.withResolvers<void>()
    await page.route('**/last_frame', async (route) => {
      await asked
      await route.continue()
    })
    await page.getByRole('button', { name: words.extend }).click()
    const button = page.getByRole('button', { name: words.busy })
    await button.waitFor()
    assert.equal(await button.getAttribute('aria-busy'), 'true')
    await page.getByRole('status').filter({ hasText: words.busy }).waitFor({ state: 'attached' })
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`video-extending-${language}`)
    goOn()
    const frame = page.getByRole('group', { name: words.frame }).locator('img')
    await frame.waitFor()
    await page.waitForFunction(() => document.activeElement instanceof HTMLTextAreaElement)
    await screenshot(`videos-extended-390-${language}`)
    const { y, height } = (await frame.boundingBox())!
    assert.ok(y > 52 && y + height <= size.height, `${y} to ${y + height}`)
    await close()
  })

test('a clip of a model without first frames is extended by one that takes them, and the form says so', async () => {
  const own = await newCustomer(app)
  const id = await completed(app, own, { model: 'small-1' })
  const { page, close } = await openConsole(browser, { app, as: own, path: `/videos/${id}` })
  await page.getByRole('button', { name: 'Extend' }).click()
  await page.getByText('for Quick: Small does not support one.').first().waitFor()
  await page.getByRole('button', { name: /^Model Quick/ }).waitFor()
  await close()
})

for (const [language, words] of [
  [
    'en',
    {
      another: 'Use another model',
      changed: [
        'Small renders 4 to 6 s, so the length is 6 s, not 12 s.',
        'Small does not render 9:16, so the aspect ratio is 16:9.',
        'Images: Small takes 1 of these 2.',
      ],
    },
  ],
  [
    'ja',
    {
      another: '別のモデルを使う',
      changed: [
        'Small の長さは 4〜6 秒のため、12 秒ではなく 6 秒になります。',
        'Small は 9:16 に対応していないため、アスペクト比は 16:9 になります。',
        '画像：Small で使えるのは 2 点のうち 1 点です。',
      ],
    },
  ],
] as const)
  test(`another model: the list of models is open, and what the chosen one does not take is named (${language})`, async () => {
    const own = await newCustomer(app)
    const bytes = await samplePicture()
    const image = async (filename: string) =>
      (await uploaded({ url: app.url, key: own.key }, bytes, { purpose: 'vision', filename })).id
    const images = [{ file_id: await image('a.png') }, { file_id: await image('b.png') }]
    const changes = { prompt: 'A heron', seconds: 12, aspect_ratio: '9:16', references: { images } }
    const id = await completed(app, own, changes)
    const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: `/videos/${id}`, language })
    await page.getByRole('button', { name: words.another }).click()
    await page.getByRole('menuitemradio', { name: /^Small/ }).click()
    const note = page.getByText(words.changed[0])
    await note.waitFor()
    assert.equal(await note.innerText(), words.changed.join(' '))
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`videos-another-model-${language}`)
    await page.getByRole('button', { name: /Small/ }).click()
    await page.getByRole('menuitemradio', { name: /^Quick/ }).click()
    await note.waitFor({ state: 'detached' })
    await close()
  })

test('a failed video is tried again once its price was shown, once however often the button is pressed', async () => {
  const own = await newCustomer(app)
  const { body: failed } = await submit(app, own, { prompt: 'It breaks' })
  await app.tick()
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: `/videos/${failed.id}` })
  await page.getByRole('button', { name: 'Try again' }).click()
  const question = page.getByRole('dialog', { name: 'Try again?' })
  await question.getByText('It costs $0.04, and $100.00 is available.').waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('video-try-again')
  assert.equal(await jobsOf(app, own.org_id), 1)
  await question.getByRole('button', { name: 'Try again' }).dblclick()
  await page.waitForURL((url) => /\/videos\/video_/.test(url.pathname) && !url.pathname.endsWith(failed.id))
  assert.deepEqual(await promptsOf(app, own), ['It breaks', 'It breaks'])
  const again = new URL(page.url()).pathname
  await page.locator('dl > div').filter({ hasText: 'Made from' }).getByRole('link', { name: 'It breaks' }).click()
  await page.getByRole('link', { name: 'It was tried again: open the newest attempt' }).click()
  await page.waitForURL(`**${again}`)
  await page.locator('dl > div').filter({ hasText: 'Made from' }).waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await app.tick()
  await close()
})

test('a video whose files or prompt cannot be used is not tried again as it is', async () => {
  const own = await newCustomer(app)
  const { body: failed } = await submit(app, own, { prompt: 'It breaks' })
  await app.tick()
  await app.database.pool.query("update video_jobs set error_code = 'moderation_blocked' where id = $1", [failed.id])
  const { page, close } = await openConsole(browser, { app, as: own, path: `/videos/${failed.id}` })
  const buttons = ['Use another model', 'Use again'].map((name) => page.getByRole('button', { name, exact: true }))
  const tops = buttons.map(async (button) => {
    await button.waitFor()
    return (await button.boundingBox())!.y
  })
  assert.equal(await tops[0], await tops[1], 'in one row')
  assert.equal(await page.getByRole('code').first().innerText(), 'moderation_blocked')
  assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0)
  await close()
})

test('a request is shown as code with everything it was submitted with', async () => {
  const own = await newCustomer(app)
  const prompt = `It's "quoted" & <d>said</d>`
  const { body } = await submit(app, own, { prompt })
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: `/videos/${body.id}` })
  await page.getByRole('button', { name: 'View code' }).click()
  const code = page.getByRole('region', { name: 'Request as code' })
  await code.getByText(`curl '${app.url}/v1/videos'`).waitFor()
  await code.getByText(/'Idempotency-Key: [\w-]{16,}'/).waitFor()
  for (const language of ['Node', 'Python']) {
    await page.getByRole('radio', { name: language }).click()
    await code.getByText(JSON.stringify(prompt)).waitFor()
  }
  await screenshot('video-code')
  assert.deepEqual(await findBarriers(page), [])
  await close()
})
