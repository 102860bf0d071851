import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { jobsOf, submit } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'
import { completed, promptsOf, QUICK, startTwoModels } from './two-models.ts'
import { generate, prompt, waitingRows } from './video-studio.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startTwoModels()
})
after(() => app?.close())

const clips = (page: Page, count: number) => page.getByRole('radio', { name: String(count), exact: true })
const cards = (page: Page, text: string) => page.locator('[data-job-status]', { hasText: text })

for (const [language, words] of [
  [
    'en',
    {
      vary: 'Vary',
      done: 'The request is in the form, for 3 clips.',
      from: 'Made from',
      clips: '3 × $0.04',
      left: '$99.84 after this',
      prompt: 'Prompt',
      generate: /^Generate/,
    },
  ],
  [
    'ja',
    {
      vary: 'バリエーションを作る',
      done: '本数を 3 にしました。',
      from: '元の動画',
      clips: '3 本 × $0.04',
      left: '$99.84',
      prompt: 'プロンプト',
      generate: /^動画を作成/,
    },
  ],
] as const)
  test(`a clip is varied: its request is in the form for three, with one quote, and three are made (${language})`, async () => {
    const own = await newCustomer(app)
    const id = await completed(app, own, { prompt: 'A kite' })
    const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: `/videos/${id}`, language })
    await page.getByRole('button', { name: words.vary }).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`video-repeat-${language}`)
    await page.getByRole('button', { name: words.vary }).click()
    await page.getByRole('textbox', { name: words.prompt }).waitFor()
    await page.getByText(words.done).first().waitFor()
    assert.equal(await clips(page, 3).getAttribute('aria-checked'), 'true')
    await page.getByText(words.clips).waitFor()
    assert.equal(await page.locator('[data-cost]').innerText(), '$0.12')
    await page.locator('[data-left]', { hasText: words.left }).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`videos-vary-${language}`)
    const sent = page.waitForRequest((each) => each.method() === 'POST' && each.url().includes('/videos'))
    await page.getByRole('button', { name: words.generate }).click()
    assert.equal(new URL((await sent).url()).pathname, '/console/videos/variations')
    await cards(page, 'A kite').nth(3).waitFor()
    assert.equal(await jobsOf(app, own.org_id), 4)
    assert.equal(await clips(page, 1).getAttribute('aria-checked'), 'true')
    assert.equal(await page.getByRole('textbox', { name: words.prompt }).inputValue(), 'A kite')
    await app.tick()
    await cards(page, 'A kite').first().click()
    await page.getByText(words.from).waitFor()
    await page.locator(`dl a[href="/videos/${id}"]`, { hasText: 'A kite' }).waitFor()
    await close()
  })

test('a set that finds too few slots waits as one, and is sent together', async () => {
  const own = await newCustomer(app)
  for (let n = 0; n < 2; n++) await submit(app, own, { prompt: 'Running' })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 429/)
  await prompt(page).fill('Together')
  await clips(page, 3).click()
  await generate(page).click()
  await waitingRows(page).filter({ hasText: '3 clips, together' }).filter({ hasText: '$0.24' }).waitFor()
  await page.getByRole('heading', { name: '3 videos waiting to be sent' }).waitFor()
  assert.equal(await clips(page, 1).getAttribute('aria-checked'), 'true')
  assert.deepEqual(await findBarriers(page), [])
  await page.reload()
  await waitingRows(page).filter({ hasText: 'Together' }).waitFor()
  await app.tick()
  await cards(page, 'Together').nth(2).waitFor()
  assert.equal(await waitingRows(page).count(), 0)
  assert.equal(await jobsOf(app, own.org_id), 5)
  await app.tick()
  await close()
})

test('a set of more clips than the plan has slots is sent in parts', async () => {
  const small = await startApp({ config: QUICK.replace('max_concurrent_renders: 4', 'max_concurrent_renders: 2') })
  try {
    const own = await newCustomer(small)
    const { page, close, allow } = await openConsole(browser, { app: small, as: own, path: '/videos' })
    allow(/status of (429|400)/)
    await prompt(page).fill('In parts')
    await clips(page, 4).click()
    await generate(page).click()
    await cards(page, 'In parts').nth(1).waitFor()
    await waitingRows(page).filter({ hasText: '2 clips, together' }).waitFor()
    assert.equal(await jobsOf(small, own.org_id), 2)
    await small.tick()
    await cards(page, 'In parts').nth(3).waitFor()
    assert.equal(await jobsOf(small, own.org_id), 4)
    await small.tick()
    await close()
  } finally {
    await small.close()
  }
})

test('a set whose answer was lost is made once, however often it is sent', async () => {
  const own = await newCustomer(app)
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/ERR_FAILED/)
  let lost = 0
  await page.route('**/console/videos/variations', async (route) => {
    if (lost++ > 0) return route.fallback()
    await route.fetch()
    await route.abort()
  })
  await prompt(page).fill('Once')
  await clips(page, 2).click()
  await generate(page).click()
  await page.getByText('No response. Try again: the video will not be created twice.').waitFor()
  const replayed = page.waitForResponse((each) => each.url().endsWith('/variations') && each.status() === 200)
  await generate(page).click()
  assert.equal((await replayed).headers()['idempotent-replayed'], 'true')
  assert.deepEqual(await promptsOf(app, own), ['Once', 'Once'])
  await app.tick()
  await close()
})
