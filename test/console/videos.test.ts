import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser, Page, Route } from 'playwright-core'
import { ended, printed, startKinora } from '../support/command.ts'
import { samplePicture } from '../support/data/media.ts'
import { newColleague, newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { jobsOf, submit } from '../support/http/videos-app.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'
import { card, choose, generate, mode, prompt } from './video-studio.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 2, video_models: ["*"] } }
moderation: { engine: { kind: rules, deny: [forbidden], media: allow } }
video_models:
  - { id: instant-1, name: Quick, description: Answers at once, engine: instant, per_second: "0.010000" }
  - { id: fine-1, name: Fine, description: Takes its time, engine: instant, per_second: "0.070000" }
`

let app: TestApp
let browser: Browser
let picture: Buffer
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
  picture = Buffer.from(await samplePicture())
})
after(() => app?.close())

test('from the first sign-in to a clip that plays: agree, upload, submit, watch it being made, pay what was quoted', async () => {
  const data = mkdtempSync(join(tmpdir(), 'kinora-console-'))
  const child = startKinora(['serve', '--port', '0', '--data-dir', data])
  const gone = ended(child)
  try {
    const [, url] = await printed(child, 'stdout', /kinora ready on (\S+)/)
    const { email, password } = JSON.parse(readFileSync(join(data, 'first-run.json'), 'utf8'))
    const { page, close, screenshot } = await openConsole(browser, { app: { url: url! }, path: '/videos' })
    const parts: number[] = []
    page.on(
      'response',
      (each) => each.url().endsWith('/content') && /videos/.test(each.url()) && parts.push(each.status()),
    )
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /With dialogue/ }).click()
    await prompt(page).and(page.locator(':focus')).waitFor()
    await page.getByText('Accept the video terms first.').waitFor()
    await page.getByRole('button', { name: 'Accept terms' }).click()
    await mode(page, 'Frames').click()
    await choose(page, 'First frame', [{ name: 'harbour.png', mimeType: 'image/png', buffer: picture }])
    await page.getByLabel('Length in seconds').fill('4')
    await page.locator('[data-cost]', { hasText: '$0.04' }).waitFor()
    await page.getByText('$100.00 available, $99.96 after this').waitFor()
    await page.evaluate(() => {
      const seen: string[] = []
      Object.assign(window, { seen })
      new MutationObserver(() => {
        const now = document.querySelector('[data-job-status]')?.getAttribute('data-job-status')
        if (now && seen.at(-1) !== now) seen.push(now)
      }).observe(document.body, { subtree: true, childList: true, attributes: true })
    })
    await generate(page).click()
    await page.locator('[data-job-status=completed]').waitFor({ timeout: 180_000 })
    await screenshot('videos-completed')
    const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen)
    // A state may be over before it is shown.
    assert.deepEqual(
      seen,
      ['moderating', 'translating', 'queued', 'in_progress', 'completed'].filter((status) => seen.includes(status)),
    )
    assert.deepEqual(seen.slice(-2), ['in_progress', 'completed'])
    await page.getByRole('complementary').getByText('$99.96').waitFor()
    await page.locator('[data-job-status=completed] img').waitFor()
    assert.deepEqual(parts, [], 'the gallery does not read the clip')
    await page.locator('[data-job-status=completed]').click()
    await playAndSeek(page)
    assert.deepEqual(new Set(parts), new Set([206]), 'the clip is read in parts')
    await page.getByText('$0.04 charged').waitFor()
    await close()
  } finally {
    child.kill('SIGTERM')
    await gone
    rmSync(data, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
})

/** Plays the clip for real, then jumps near its end. */
async function playAndSeek(page: Page): Promise<void> {
  const video = page.locator('video')
  await video.evaluate((player: HTMLVideoElement) => {
    player.muted = true
    return player.play()
  })
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 0.2)
  const at = await video.evaluate(
    (player: HTMLVideoElement) =>
      new Promise<number>((resolve) => {
        player.pause()
        player.onseeked = () => resolve(player.currentTime)
        player.currentTime = 3.5
      }),
  )
  assert.ok(at > 3.4 && at < 3.6, `at ${at}`)
  assert.equal(await video.evaluate((player: HTMLVideoElement) => player.textTracks[0]!.kind), 'captions')
}

test('a request that is clicked twice or retried after a lost response creates one job', async () => {
  const own = await newCustomer(app)
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/ERR_FAILED/)
  await page.route('**/v1/videos', async (route) => {
    if (route.request().method() !== 'POST') return route.fallback()
    await route.fetch()
    await route.abort()
  })
  await prompt(page).fill('Only once')
  await generate(page).dblclick()
  await page.getByText('No response. Try again: the video will not be created twice.').waitFor()
  await page.unroute('**/v1/videos')
  await prompt(page).press('Control+Enter')
  await card(page, 'Only once').filter({ hasText: 'Checking' }).waitFor()
  assert.equal(await card(page, 'Only once').count(), 1)
  assert.equal(await jobsOf(app, own.org_id), 1)
  await close()
})

for (const [refusal, status] of [
  ['idempotency_in_progress', 409],
  ['rate_limit_exceeded', 429],
  ['missing_api_key', 401],
] as const)
  test(`a request whose response was lost creates one job, though a retry over a reload is answered with ${refusal}`, async () => {
    const own = await newCustomer(app)
    const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
    allow(/ERR_FAILED|status of (409|429|401)/)
    const keys: Array<string | undefined> = []
    const lost = async (route: Route) => {
      await route.fetch()
      await route.abort()
    }
    const refuse = (route: Route) =>
      route.fulfill({
        status,
        json: { error: { message: '', type: 'invalid_request_error', param: null, code: refusal } },
      })
    const answers = [lost, refuse, (route: Route) => route.fallback()]
    await page.route('**/v1/videos', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback()
      keys.push(route.request().headers()['idempotency-key'])
      await answers[keys.length - 1]!(route)
    })
    await prompt(page).fill('Paid once')
    await generate(page).click()
    await page.getByText('No response. Try again: the video will not be created twice.').waitFor()
    await page.reload()
    const refused = page.waitForResponse((each) => each.status() === status)
    await generate(page).click()
    await refused
    const made = page.waitForResponse((each) => each.request().method() === 'POST' && each.status() === 200)
    await generate(page).click()
    await made
    assert.equal(new Set(keys).size, 1)
    assert.equal(await jobsOf(app, own.org_id), 1)
    await close()
  })

test('the quote is exact while settings change, and says what is missing', async () => {
  const own = await newCustomer(app, { balance: 5_000_000n })
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos' })
  await prompt(page).fill('A paper boat')
  await page.getByText('$0.05 available, $0.03 short').waitFor()
  assert.equal(await generate(page).getAttribute('aria-disabled'), 'true')
  await prompt(page).press('Control+Enter')
  await page
    .getByText(
      'Your balance does not cover this. Choose a shorter length or fewer clips, or see the billing page for how to add credit.',
    )
    .waitFor()
  await screenshot('videos-credit')
  await page.getByLabel('Length in seconds').fill('5')
  await page.getByText('$0.05 available, $0.00 after this').waitFor()
  await page.getByRole('button', { name: /^Model/ }).click()
  await page.getByRole('menuitemradio', { name: /Fine.*\$0.07 per second.*Takes its time/ }).click()
  await page.locator('[data-cost]', { hasText: '$0.35' }).waitFor()
  await page.getByRole('slider', { name: 'Length' }).press('End')
  await page.locator('[data-cost]', { hasText: '$1.05' }).waitFor()
  assert.equal(await jobsOf(app, own.org_id), 0)
  await close()
})

test('a refusal says what to do about it, and the draft stays: credit spent meanwhile, a field not accepted', async () => {
  const own = await newCustomer(app, { balance: 10_000_000n })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 402/)
  await page.locator('[data-left]', { hasText: 'after this' }).waitFor()
  // A colleague is faster.
  await page.route('**/v1/videos', async (route) => {
    if (route.request().method() === 'POST') await submit(app, own, { seconds: 4 })
    await route.fallback()
  })
  await prompt(page).fill('One too many')
  await generate(page).click()
  await page.getByText(/costs \$0\.08, but only \$0\.06 is available/).waitFor()
  await page.unrouteAll()
  await close()

  const rich = await newCustomer(app)
  const full = await openConsole(browser, { app, as: rich, path: '/videos' })
  full.allow(/status of 400/)
  await prompt(full.page).fill('Too long')
  const error = {
    message: 'Cannot last so long.',
    type: 'invalid_request_error',
    param: 'seconds',
    code: 'invalid_request_error',
  }
  await full.page.route('**/v1/videos', (route) =>
    route.request().method() === 'POST' ? route.fulfill({ status: 400, json: { error } }) : route.fallback(),
  )
  await generate(full.page).click()
  await full.page.getByText('This model does not support this length. Choose another.').waitFor()
  assert.equal(await full.page.getByText('Cannot last so long.').count(), 0)
  assert.equal(await prompt(full.page).inputValue(), 'Too long')
  await full.close()
})

test('terms that change while they are read are shown again, and the new version is accepted', async () => {
  const own = await newColleague(app, (await newCustomer(app)).org_id, { agreed: false })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 409/)
  const { terms } = app.ctx.config
  const before = terms.version
  await page.getByText(`(version ${before})`).waitFor()
  assert.equal(await page.getByRole('link', { name: 'video terms' }).getAttribute('href'), `${app.url}/terms?lang=en`)
  try {
    Object.assign(terms, { version: '2027-02-02' })
    await page.getByRole('button', { name: 'Accept terms' }).click()
    await page.getByText('have changed (version 2027-02-02)').waitFor()
    await page.getByRole('button', { name: 'Accept terms' }).click()
    await generate(page).waitFor()
  } finally {
    Object.assign(terms, { version: before })
  }
  await close()
})

test('nothing scrolls sideways, and axe-core finds no barrier, from 360 to 2560 pixels in both themes and languages', async () => {
  const own = await newCustomer(app, { agreed: false })
  const looks = firstUnlessCheck([
    { width: 2560, theme: 'dark', language: 'en' },
    { width: 360, theme: 'dark', language: 'ja' },
    { width: 1280, theme: 'light', language: 'ja' },
  ] as const)
  for (const look of looks) {
    const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos', ...look })
    const name = { en: 'References', ja: '参照素材' }[look.language]
    await mode(page, name).click()
    await page.getByRole('button', { name: /Accept terms|同意する/ }).waitFor()
    assert.deepEqual(await findBarriers(page), [], JSON.stringify(look))
    const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const)
    assert.ok(scroll <= inner, `${scroll} wide in ${inner}`)
    await screenshot(`videos-${look.width}-${look.theme}-${look.language}`)
    await close()
  }
})
