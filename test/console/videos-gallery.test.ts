import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { samplePicture } from '../support/data/media.ts'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { drawVariants, insertEndedJobs, jobsOf, submit } from '../support/http/videos-app.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 100 } }
moderation: { engine: { kind: rules, deny: { Weapons: [cannon], Violence: [/duels?/], denied: [forbidden] }, media: allow } }
video_models:
  - id: instant-1
    name: Quick
    engine: { kind: instant, script: [{ prompt_includes: breaks, render: permanent }] }
    per_second: "0.010000"
`

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
})
after(() => app?.close())

const gallery = (page: Page) => page.getByRole('list', { name: 'Videos, newest first' })
/** By what its prompt begins with and where it is. */
const card = (page: Page, prompt: string, status = '') =>
  gallery(page).getByRole('link', { name: prompt }).filter({ hasText: status })
const title = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })

test('cards follow status changes live, including jobs that others submit', async () => {
  const own = await newCustomer(app)
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos' })
  await page.getByText('Describe your first video').waitFor()
  await submit(app, own, { prompt: 'First of two' })
  await card(page, 'First of two', 'Checking').waitFor()
  await submit(app, own, { prompt: 'It breaks' })
  await card(page, 'It breaks', 'Checking').waitFor()
  await app.tick()
  await card(page, 'First of two', 'Completed').locator('img').waitFor()
  await card(page, 'It breaks', 'Failed').getByText('The renderer could not create this video.').waitFor()
  await page.getByRole('complementary').getByText('$99.96').waitFor()
  await screenshot('gallery')
  assert.deepEqual(await findBarriers(page), [])
  await close()
})

test('without live events the list polls', async () => {
  const own = await newCustomer(app)
  const { body } = await submit(app, own, { prompt: 'Asked for' })
  const opened = await openConsole(browser, { app, as: own, path: '/sign-in' })
  const { page } = opened
  opened.allow(/ERR_FAILED/)
  await page.route('**/console/events', (route) => route.abort())
  await page.goto(`${app.url}/videos`)
  await card(page, 'Asked for', 'Checking').waitFor()
  await send(app, 'POST', `/v1/videos/${body.id}/cancel`, own)
  await card(page, 'Asked for', 'Canceled').waitFor()
  await opened.close()
})

test('a video is canceled after confirmation, and nothing is charged', async () => {
  const own = await newCustomer(app)
  const { body } = await submit(app, own, { prompt: 'Better not' })
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: `/videos/${body.id}` })
  await title(page, 'Better not').waitFor()
  await page.getByText('held until completion').waitFor()
  await page.getByRole('button', { name: 'Cancel video' }).click()
  const question = page.getByRole('dialog', { name: 'Cancel this video?' })
  assert.deepEqual(await findBarriers(page), [])
  await question.getByRole('button', { name: 'Keep rendering' }).click()
  await page.getByRole('button', { name: 'Cancel video' }).click()
  await question.getByRole('button', { name: 'Cancel video' }).click()
  await page.getByRole('heading', { name: 'This video was canceled.' }).waitFor()
  await page.getByText('You were not charged.', { exact: true }).first().waitFor()
  await screenshot('video-canceled')
  await page.getByRole('complementary').getByText('$100.00').waitFor()
  await close()
})

test('a deleted video leaves the list and its page at once, and is deleted when its time to undo is over', async () => {
  const own = await newCustomer(app)
  const { body } = await submit(app, own, { prompt: 'To be forgotten' })
  await submit(app, own, { prompt: 'To be kept' })
  await app.tick()
  await drawVariants(app)
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 404/)
  await card(page, 'To be forgotten', 'Completed').click()
  await page.clock.install()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await card(page, 'To be kept', 'Completed').waitFor()
  await card(page, 'To be forgotten').waitFor({ state: 'detached' })
  assert.equal(await jobsOf(app, own.org_id), 2)
  const sent = page.waitForResponse((response) => response.request().method() === 'DELETE')
  await page.clock.runFor(10_000)
  assert.equal((await sent).status(), 200)
  assert.equal(await jobsOf(app, own.org_id), 1)
  await page.goto(`${app.url}/videos/${body.id}`)
  await page.getByRole('heading', { name: 'Video not found' }).waitFor()
  await close()
})

test('a clip is downloaded under the first words of its prompt, and a price that was not charged says so', async () => {
  const own = await newCustomer(app)
  const { body } = await submit(app, own, { prompt: 'Lake 湖上, a boat: <d>Off we go!</d>' })
  await submit(app, own, { prompt: 'It breaks' })
  await app.tick()
  await drawVariants(app)
  const { page, close } = await openConsole(browser, { app, as: own, path: '/videos' })
  await page.getByRole('link', { name: /It breaks.*\$0\.04.*not charged/ }).waitFor()
  await page.goto(`${app.url}/videos/${body.id}`)
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download' }).click()
  assert.equal((await download).suggestedFilename(), 'Lake 湖上, a boat Off we go!.mp4')
  await page.goto(`${app.url}/billing`)
  await page.getByRole('row', { name: /4-second video, Quick/ }).waitFor()
  await close()
})

test('a refused prompt says why, costs nothing, and can be used again with its settings and files', async () => {
  const own = await newCustomer(app)
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos' })
  const prompt = page.getByRole('textbox', { name: 'Prompt' })
  await prompt.fill('A forbidden boat')
  await page.getByRole('radio', { name: '1:1, square' }).click()
  await page.getByLabel('Length in seconds').fill('6')
  await page.getByRole('radio', { name: 'Frames' }).click()
  const buffer = Buffer.from(await samplePicture())
  await page
    .getByRole('group', { name: 'Last frame' })
    .locator('input[type=file]')
    .setInputFiles([{ name: 'end.png', mimeType: 'image/png', buffer }])
  await page.locator('[aria-disabled=true]', { hasText: 'Generate' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Generate' }).click()
  await card(page, 'A forbidden boat', 'Checking').waitFor()
  await app.tick()
  await prompt.fill('Something else')
  await card(page, 'A forbidden boat', 'Failed').click()
  await page.getByRole('heading', { name: 'The prompt or files violate the content policy.' }).waitFor()
  await page.getByText('Change them and try again.').waitFor()
  await screenshot('video-blocked')
  assert.deepEqual(await findBarriers(page), [])
  await page.getByRole('button', { name: 'Use again' }).click()
  await page.getByRole('group', { name: 'Last frame' }).getByText('end.png').waitFor()
  assert.equal(await prompt.inputValue(), 'A forbidden boat')
  assert.equal(await page.getByLabel('Length in seconds').inputValue(), '6')
  assert.equal(await page.getByRole('radio', { name: '1:1, square' }).getAttribute('aria-checked'), 'true')
  await page.getByText('Previous draft: Something else').waitFor()
  await screenshot('studio-used-again')
  await page.getByRole('button', { name: 'Restore' }).click()
  assert.equal(await prompt.inputValue(), 'Something else')
  await page.getByRole('radio', { name: 'Text only' }).click()
  const useAgain = async () => {
    await card(page, 'A forbidden boat', 'Failed').click()
    await page.getByRole('button', { name: 'Use again' }).click()
    await page.waitForFunction(() => document.querySelector('textarea')?.value === 'A forbidden boat')
  }
  await page.getByRole('button', { name: 'Generate' }).click()
  await card(page, 'Something else', 'Checking').waitFor()
  await useAgain()
  assert.equal(await page.getByText('Previous draft').count(), 0, 'what was sent is no draft')
  await prompt.fill('A forbidden boat, repainted')
  await useAgain()
  await page.getByText('Previous draft: A forbidden boat, repainted').waitFor()
  await close()
})

test('a prompt that the deny list blocks names its categories on the card and its page, and not what matched', async () => {
  const own = await newCustomer(app)
  const { body } = await submit(app, own, { prompt: 'Two boats with a cannon in a duel' })
  await app.tick()
  const { error } = (await send(app, 'GET', `/v1/videos/${body.id}`, own)).body
  assert.deepEqual(error.categories, ['Violence', 'Weapons'])
  for (const [language, text] of [
    ['en', 'The prompt violates the content policy: Violence, Weapons'],
    ['ja', 'プロンプトがコンテンツポリシーに違反しています（分類：Violence、Weapons）'],
  ] as const) {
    const { page, close } = await openConsole(browser, { app, as: own, path: '/videos', language })
    const failed = page.locator('[data-job-status=failed]')
    await failed.getByText(text).waitFor()
    await failed.getByText(language === 'ja' ? 'たった今' : 'just now').waitFor()
    await failed.click()
    await page.getByRole('heading', { name: text }).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await close()
  }
})

test('the page of a video has no barrier and no sideways scroll, from 360 to 2560 pixels in both themes and languages', async () => {
  const own = await newCustomer(app)
  const { body: done } = await submit(app, own, { prompt: 'A boat. '.repeat(40), aspect_ratio: '9:16' })
  const { body: broken } = await submit(app, own, { prompt: 'It_breaks_without_a_space_'.repeat(12) })
  await app.tick()
  await drawVariants(app)
  const { body: waiting } = await submit(app, own)
  const looks = firstUnlessCheck([
    { width: 2560, theme: 'light', language: 'en' },
    { width: 360, theme: 'dark', language: 'ja' },
  ] as const)
  for (const look of looks) {
    const { page, close, screenshot } = await openConsole(browser, { app, as: own, ...look })
    for (const { id } of [done, broken, waiting]) {
      await page.goto(`${app.url}/videos/${id}`)
      await page.getByText(id).waitFor()
      assert.deepEqual(await findBarriers(page), [], id)
      const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const)
      assert.ok(scroll <= inner, `${scroll} wide in ${inner}`)
      await screenshot(`video-${[done, broken, waiting].findIndex((job) => job.id === id)}-${look.width}-${look.theme}`)
    }
    await close()
  }
})

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)</script>',
  "javascript:alert(1)//'",
  '{{constructor.constructor("alert(1)")()}} $t(title) {{status}}',
  '</textarea></title><svg/onload=alert(1)>',
]

test('prompts and file names are shown as plain text', async () => {
  const own = await newCustomer(app)
  for (const prompt of HOSTILE) await submit(app, own, { prompt })
  await app.tick()
  await drawVariants(app)
  for (const language of firstUnlessCheck(['en', 'ja'] as const)) {
    const { page, close } = await openConsole(browser, { app, as: own, path: '/videos', language })
    page.on('dialog', () => assert.fail('a dialog opened'))
    for (const prompt of HOSTILE) await page.locator('[data-job-status=completed]', { hasText: prompt }).waitFor()
    await page.getByRole('textbox', { name: /Prompt|プロンプト/ }).fill(`${HOSTILE.join(' ')} <d>${HOSTILE[0]}</d>`)
    await page
      .getByRole('radio', { name: /Frames|フレーム/, exact: true })
      .last()
      .click()
    const name = '<img src=x onerror=alert(1)>.png'
    const buffer = Buffer.from(await samplePicture())
    await page
      .locator('fieldset input[type=file]')
      .first()
      .setInputFiles([{ name, mimeType: 'image/png', buffer }])
    await page.getByText(name).first().waitFor()
    await page.locator('[data-job-status=completed]', { hasText: HOSTILE[3]! }).click()
    await title(page, HOSTILE[3]!).waitFor()
    assert.equal(await page.locator('main script, main svg[onload], img[onerror]').count(), 0)
    await close()
  }
})

test('thousands of jobs scroll to their end with few of them in the page, and the way back is where it was', async () => {
  const own = await newCustomer(app)
  await insertEndedJobs(app.database, own, 2500)
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos' })
  await card(page, 'number 2500 of').waitFor()
  let most = 0
  const end = page.getByText('These are all videos from the last 30 days.')
  while (!(await end.isVisible())) {
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
    await gallery(page).getByRole('link').last().waitFor()
    most = Math.max(most, await gallery(page).getByRole('link').count())
  }
  // Rows are measured as they are shown, so the end may move once more.
  while (!(await card(page, 'number 1 of').isVisible())) {
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
  }
  assert.ok(most < 100, `${most} cards at once`)
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2))
  const middle = gallery(page)
    .getByRole('link', { name: /number 1[1-4]\d{2} of/ })
    .nth(6)
  await middle.waitFor()
  await screenshot('gallery-middle')
  const name = /number \d+ of/.exec(await middle.innerText())![0]
  await middle.click()
  await page.getByRole('link', { name: 'All videos' }).waitFor()
  await page.goBack()
  await card(page, name).waitFor()
  await close()
})
