import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import {
  INSTANT_CONFIG,
  newColleague,
  newCustomer,
  startApp,
  type TestApp,
  type TestPerson,
} from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { drawVariants, submit } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
let own: TestPerson
let video: string
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: `${INSTANT_CONFIG}sharing: { enabled: true, days_max: 14 }\n` })
  own = await newCustomer(app)
  video = (await submit(app, own, { prompt: 'A secret dragon' })).body.id
  await app.tick()
  await drawVariants(app)
})
after(() => app?.close())

const LANGUAGES = [
  {
    language: 'en',
    share: 'Share',
    title: 'Share this video',
    days: ['1 day', '7 days', '14 days'],
    download: 'Offer the video for download',
    create: 'Create link',
    link: 'New link',
    none: 'This video has no links.',
    revoke: 'Revoke',
    revoked: 'Link revoked.',
    page: 'Shared video',
    save: 'Download',
    ended: 'This link has expired or was revoked',
  },
  {
    language: 'ja',
    share: '共有',
    title: '動画を共有',
    days: ['1 日', '7 日', '14 日'],
    download: '動画のダウンロードを許可する',
    create: 'リンクを作成',
    link: '新しいリンク',
    none: 'この動画のリンクはありません。',
    revoke: '無効にする',
    revoked: 'リンクを無効にしました。',
    page: '共有された動画',
    save: 'ダウンロード',
    ended: 'リンクの有効期限が切れているか、無効になっています。',
  },
] as const

/** A browser in Tokyo that was never here, with what its pages complain of. */
async function openVisitor(language: 'en' | 'ja') {
  const context = await browser.newContext({
    locale: language,
    timezoneId: 'Asia/Tokyo',
    viewport: { width: 390, height: 800 },
  })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(String(error)))
  return { context, page, faults }
}

const focusIsOn = (page: Page, name: string) =>
  page.waitForFunction((wanted) => {
    const { ariaLabel, textContent } = document.activeElement!
    return (ariaLabel ?? textContent) === wanted
  }, name)

const plays = (page: Page) =>
  page.locator('video').evaluate(async (video: HTMLVideoElement) => {
    video.muted = true
    await video.play()
    await new Promise((resolve) => video.addEventListener('timeupdate', resolve, { once: true }))
    return video.currentTime > 0 && video.videoWidth > 0
  })

for (const { language, ...words } of LANGUAGES)
  test(`a link made on the page of a video plays it for a visitor without an account, until it is revoked (${language})`, async () => {
    const visit = await openConsole(browser, { app, as: own, path: `/videos/${video}`, language })
    const { page, close, screenshot } = visit
    await page.getByRole('button', { name: words.share, exact: true }).click()
    const dialog = page.getByRole('dialog', { name: words.title })
    await dialog.getByText(words.none).waitFor()
    assert.deepEqual(await dialog.getByRole('radio').allInnerTexts(), words.days)
    await dialog.getByRole('radio', { name: words.days[0] }).click()
    await dialog.getByLabel(words.download).check()
    await dialog.getByRole('button', { name: words.create }).click()
    const url = (await dialog.getByRole('region', { name: words.link }).locator('code').innerText()).trim()
    const hint = `…${url.slice(-4)}`
    await dialog.getByText(hint).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`share-dialog-${language}`)
    const [link] = (await send(app, 'GET', `/console/videos/${video}/share_links`, { cookie: own.cookie })).body.data
    assert.deepEqual([link.expires_at - link.created_at, link.download], [86_400, true])

    const visitor = await openVisitor(language)
    await visitor.page.goto(url)
    await visitor.page.getByRole('heading', { level: 1, name: words.page }).waitFor()
    assert.equal(await plays(visitor.page), true)
    const ends = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'Asia/Tokyo' })
    const shown = (await visitor.page.locator('time').innerText()).replace(/ (GMT\+9|JST)$/, '')
    assert.equal(shown, ends.format(link.expires_at * 1000))
    const [saved] = await Promise.all([
      visitor.page.waitForEvent('download'),
      visitor.page.getByRole('link', { name: words.save }).click(),
    ])
    assert.equal(saved.suggestedFilename(), 'video.mp4')
    assert.deepEqual(await findBarriers(visitor.page), [])
    const [scroll, inner] = await visitor.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
    assert.ok(scroll! <= inner!)
    assert.ok(!(await visitor.page.content()).includes('dragon'))
    assert.deepEqual(await visitor.context.cookies(), [])
    assert.deepEqual(visitor.faults, [])
    if (process.env.KINORA_SCREENSHOTS)
      await visitor.page.screenshot({ path: `${process.env.KINORA_SCREENSHOTS}/share-page-${language}.png` })

    await dialog.getByRole('button', { name: new RegExp(`${url.slice(-4)}`) }).click()
    await page.getByRole('dialog').last().getByRole('button', { name: words.revoke, exact: true }).click()
    await dialog.getByText(words.none).waitFor()
    await page.getByRole('status').filter({ hasText: words.revoked }).first().waitFor()
    await focusIsOn(page, words.create)
    assert.equal(await dialog.getByRole('region', { name: words.link }).count(), 0)
    await close()
    const answer = await visitor.page.goto(url)
    assert.equal(answer!.status(), 404)
    await visitor.page.getByRole('heading', { level: 1, name: words.ended }).waitFor()
    assert.deepEqual(await findBarriers(visitor.page), [])
    await visitor.context.close()
  })

test('the focus goes to the link after the one that was revoked, and from the last one to the one before', async () => {
  const other = (await submit(app, own)).body.id
  await app.tick()
  await drawVariants(app)
  for (const expires_in_days of [1, 2, 3])
    await send(app, 'POST', `/console/videos/${other}/share_links`, { cookie: own.cookie }, { expires_in_days })
  const { page, close } = await openConsole(browser, { app, as: own, path: `/videos/${other}` })
  await page.getByRole('button', { name: 'Share', exact: true }).click()
  const links = page.getByRole('region', { name: 'Active links' }).getByRole('button')
  await links.nth(2).waitFor()
  const names = await links.evaluateAll((all) => all.map((each) => each.getAttribute('aria-label')!))
  for (const [revoked, next] of [
    [names[1]!, names[2]!],
    [names[2]!, names[0]!],
  ] as const) {
    await page.getByRole('button', { name: revoked }).click()
    await page.getByRole('dialog').last().getByRole('button', { name: 'Revoke', exact: true }).click()
    await focusIsOn(page, next)
  }
  await close()
})

test('a failed creation says why: the video has as many links as it may, or sharing was turned off', async () => {
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: `/videos/${video}` })
  allow(/status of 40[39] /)
  await page.getByRole('button', { name: 'Share', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Share this video' })
  for (const [status, code, text] of [
    [409, 'conflict', 'as many links as it can have'],
    [403, 'permission_denied', 'no longer allows links'],
  ] as const) {
    const error = { message: 'x', type: 'invalid_request_error', param: null, code }
    await page.route('**/share_links', (route) =>
      route.request().method() === 'POST' ? route.fulfill({ status, json: { error } }) : route.continue(),
    )
    await dialog.getByRole('button', { name: 'Create link' }).click()
    await dialog.getByText(text).waitFor()
    await page.unroute('**/share_links')
  }
  await close()
})

test('nobody is offered what they may not share: members videos of others, everybody running ones, and all where it is off', async () => {
  const member = await newColleague(app, own.org_id)
  const shareOf = async (on: TestApp, as: TestPerson, id: string) => {
    const { page, close } = await openConsole(browser, { app: on, as, path: `/videos/${id}` })
    // Who made it, and whether the operator allows sharing.
    const read = ['**/console/makers*', '**/console/site'].map((url) => page.waitForResponse(url))
    await Promise.all([...read, page.reload()])
    await page.getByRole('button', { name: 'View code' }).waitFor()
    await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))))
    const count = await page.getByRole('button', { name: 'Share', exact: true }).count()
    await close()
    return count
  }
  assert.equal(await shareOf(app, own, video), 1)
  assert.equal(await shareOf(app, member, video), 0)
  const theirs = (await submit(app, member)).body.id
  assert.equal(await shareOf(app, member, theirs), 0)
  await app.tick()
  await drawVariants(app)
  assert.equal(await shareOf(app, member, theirs), 1)
  const off = await startApp()
  const other = await newCustomer(off)
  const { id } = (await submit(off, other)).body
  await off.tick()
  await drawVariants(off)
  assert.equal(await shareOf(off, other, id), 0)
  await off.close()
})
