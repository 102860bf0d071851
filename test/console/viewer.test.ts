import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sampleMedia } from '../support/data/media.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { drawVariants, insertCompletedJobs, submit } from '../support/http/videos-app.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'
import { prompt } from './video-studio.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 100 } }
video_models:
  - id: instant-1
    engine: { kind: instant, script: [{ prompt_includes: breaks, render: permanent }] }
    per_second: "0.010000"
`

let app: TestApp
let browser: Browser
let own: TestPerson
let ids: string[]
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
  own = await newCustomer(app)
  ids = []
  for (const [text, seconds] of [
    ['Oldest clip', 4],
    ['Middle clip', 5],
    ['It breaks', 4],
    ['Newest clip', 4],
  ] as const) {
    ids.push((await submit(app, own, { prompt: text, seconds })).body.id)
    app.clock.advance(1)
  }
  await app.tick()
  await drawVariants(app)
  await shorten(ids[0]!)
})
after(() => app?.close())

/** Gives a video a clip of two seconds in place of that of the engine, which is always as long. */
async function shorten(id: string): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-viewer-'))
  const { mp4 } = await sampleMedia(dir, ['mp4'], { seconds: 2 })
  const bytes = readFileSync(mp4)
  rmSync(dir, { recursive: true })
  const { key, sha256, size_bytes } = await app.ctx.blobs.write(Readable.from([bytes]), { max_bytes: bytes.length })
  const change = 'update video_jobs set blob_key = $1, output_sha256 = $2, output_size_bytes = $3 where id = $4'
  await app.database.pool.query(change, [key, sha256, size_bytes, id])
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })
/** Resolves once there is a video on that side. */
const enabled = (page: Page, name: string) => page.locator(`[aria-label="${name}"]:not([aria-disabled])`).waitFor()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
/** Of the clips on the page, in order, once they can be played. */
const clips = async (page: Page) => {
  await page.waitForFunction(
    () =>
      document.querySelector('video') !== null &&
      [...document.querySelectorAll('video')].every(({ readyState }) => readyState >= 2),
  )
  return page.evaluate(() =>
    [...document.querySelectorAll('video')].map(({ currentTime, loop, muted, paused, playbackRate, duration }) => ({
      currentTime,
      loop,
      muted,
      paused,
      playbackRate,
      duration,
    })),
  )
}

test('arrow keys and buttons lead through the list that the person came from, and the way back leads to it', async () => {
  const { page, close } = await openConsole(browser, { app, as: own, path: '/videos' })
  await page.getByRole('link', { name: 'Newest clip' }).last().click()
  await heading(page, 'Newest clip').waitFor()
  assert.equal(await button(page, 'Previous video').getAttribute('aria-disabled'), 'true')
  await enabled(page, 'Next video')
  await page.locator('video').click({ position: { x: 20, y: 20 } })
  await page.keyboard.press('ArrowRight')
  await heading(page, 'It breaks').waitFor()
  await enabled(page, 'Next video')
  await button(page, 'Next video').click()
  await heading(page, 'Middle clip').waitFor()
  await enabled(page, 'Next video')
  await page.keyboard.press('Shift+ArrowLeft')
  await page.keyboard.press('Enter')
  await heading(page, 'Oldest clip').waitFor()
  await page.waitForFunction(
    () => document.querySelector('[aria-label="Next video"]')?.getAttribute('aria-disabled') === 'true',
  )
  await page.keyboard.press('ArrowLeft')
  await heading(page, 'Middle clip').waitFor()
  await page.goBack()
  await prompt(page).fill('<- and , are letters here')
  await prompt(page).press('ArrowLeft')
  assert.equal(new URL(page.url()).pathname, '/videos')
  await close()
})

test('frame by frame, loop and speed, by button and key, and the next clip plays as the one before', async () => {
  const { page, close } = await openConsole(browser, { app, as: own, path: `/videos/${ids[1]}` })
  await heading(page, 'Middle clip').waitFor()
  await clips(page)
  await page.keyboard.press('l')
  assert.equal(await button(page, 'Loop').getAttribute('aria-pressed'), 'false', 'letters act in the viewer only')
  await page.locator('video').focus()
  const frameAfter = async (act: () => Promise<void>) => {
    await page.evaluate(() => {
      const video = document.querySelector('video')!
      Object.assign(window, {
        seeked: new Promise((resolve) => video.addEventListener('seeked', resolve, { once: true })),
      })
    })
    await act()
    await page.evaluate(() => (window as unknown as { seeked: Promise<unknown> }).seeked)
    return Math.floor((await clips(page))[0]!.currentTime * 24)
  }
  assert.equal(await frameAfter(() => page.keyboard.press('.')), 1)
  assert.equal(await frameAfter(() => page.keyboard.press('.')), 2)
  assert.equal(await frameAfter(() => button(page, 'One frame forward').click()), 3)
  assert.equal(await frameAfter(() => page.keyboard.press(',')), 2)
  assert.equal(await frameAfter(() => button(page, 'One frame back').click()), 1)
  await button(page, 'Loop').click()
  await page.keyboard.press('>')
  assert.equal(await page.getByLabel('Speed').inputValue(), '1.25')
  await page.getByLabel('Speed').selectOption('0.25')
  await button(page, 'Loop').focus()
  const [now] = await clips(page)
  assert.deepEqual([now!.loop, now!.playbackRate], [true, 0.25])
  await enabled(page, 'Next video')
  await page.keyboard.press('ArrowRight')
  await heading(page, 'Oldest clip').waitFor()
  await page.waitForFunction(() => document.querySelector('video')!.playbackRate === 0.25)
  assert.equal((await clips(page))[0]!.loop, true)
  await button(page, 'Loop').focus()
  await page.keyboard.press('l')
  await page.locator('[aria-label=Loop][aria-pressed=false]').waitFor()
  await page.getByLabel('Speed').selectOption('1')
  await close()
})

test('two clips play with one playhead: the shorter one waits at its end, and the sound of one is heard', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: `/videos/${ids[0]}` })
  await button(page, 'Compare').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Middle clip' }).click()
  await page.waitForURL(`**/videos/${ids[0]}?with=${ids[1]}`)
  await page.reload()
  await heading(page, 'Compare two videos').waitFor()
  const [short, long] = await clips(page)
  assert.ok(long!.duration > short!.duration + 0.5, `${short!.duration} and ${long!.duration}`)
  assert.deepEqual([short!.muted, long!.muted], [false, true])
  await page.getByRole('radio', { name: 'Second video' }).click()
  const heard = await clips(page)
  assert.deepEqual([heard[0]!.muted, heard[1]!.muted], [true, false])
  await page.getByLabel('Speed').selectOption('2')
  await page.getByLabel('Speed').blur()
  await button(page, 'Play').click()
  await button(page, 'Pause').waitFor()
  await page.waitForFunction(() => document.querySelectorAll('video')[0]!.ended)
  await button(page, 'Play').waitFor()
  const ended = await clips(page)
  assert.ok(Math.abs(ended[0]!.currentTime - short!.duration) < 0.1, 'the shorter one is at its last frame')
  assert.ok(Math.abs(ended[1]!.currentTime - long!.duration) < 0.1)
  const scrubber = page.getByRole('slider', { name: 'Playhead' })
  await scrubber.press('Home')
  await page.waitForFunction(() => [...document.querySelectorAll('video')].every((video) => video.currentTime === 0))
  await page.keyboard.press('.')
  await page.waitForFunction(() => [...document.querySelectorAll('video')].every((video) => video.currentTime > 0))
  const stepped = await clips(page)
  assert.equal(stepped[0]!.currentTime, stepped[1]!.currentTime)
  await screenshot('videos-compare')
  await page.getByLabel('Speed').selectOption('1')
  await button(page, 'End comparison').click()
  await heading(page, 'Oldest clip').waitFor()
  await close()
})

test('how long it takes is said before submitting and while it runs, from five finished videos on', async () => {
  for (const took_seconds of [[35], [40, 41], [42, 60]])
    await insertCompletedJobs(app.database, await newCustomer(app), { took_seconds, waited_seconds: 5, seconds: 12 })
  await submit(app, own, { prompt: 'Still running', seconds: 12 })
  const { page, close } = await openConsole(browser, { app, as: own, path: '/videos' })
  await page.getByLabel('Length in seconds').fill('12')
  await page.getByText('Takes about 41 s; usually 35 s to 60 s. About 5 s of it waiting for a renderer.').waitFor()
  const answered = Promise.withResolvers<void>()
  await page.route('**/console/estimate?*seconds=9*', async (route) => {
    await answered.promise
    await route.continue()
  })
  const asked = page.waitForRequest('**/console/estimate?*seconds=9*')
  await page.getByLabel('Length in seconds').fill('9')
  await asked
  assert.equal(await page.getByText('Takes about').count(), 1, 'the line stays while another one is read')
  answered.resolve()
  await page.getByText('Takes about').waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Still running' }).last().click()
  await page.getByText(/Takes about 41 s; usually 35 s to 60 s/).waitFor()
  await close()
})

test('the viewer and the comparison have no barriers and do not scroll sideways', async () => {
  const looks = firstUnlessCheck([
    { width: 360, language: 'ja' },
    { width: 1280, language: 'en', theme: 'dark' },
  ] as const)
  for (const look of looks)
    for (const path of [`/videos/${ids[0]}`, `/videos/${ids[0]}?with=${ids[1]}`]) {
      const { page, close, screenshot } = await openConsole(browser, { app, as: own, path, ...look })
      await clips(page)
      assert.deepEqual(await findBarriers(page), [], path)
      const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const)
      assert.ok(scroll <= inner, `${scroll} wide in ${inner}`)
      await screenshot(`viewer-${path.includes('with') ? 'compare' : 'one'}-${look.width}`)
      await close()
    }
})

test('while two clips are compared all controls are in sight, upright clips are beside each other, and heights are equal', async () => {
  const other = await newCustomer(app)
  const made = []
  for (const aspect_ratio of ['9:16', '9:16', '16:9'])
    made.push((await submit(app, other, { prompt: `A clip in ${aspect_ratio}`, seconds: 4, aspect_ratio })).body.id)
  await app.tick()
  await drawVariants(app)
  for (const [[first, second], look] of [
    [[made[0], made[1]], { width: 390, height: 844, language: 'ja' }],
    [[made[0], made[2]], { width: 390, height: 844, language: 'en' }],
    [[made[0], made[2]], { width: 1280, height: 800, language: 'ja' }],
  ] as const) {
    const path = `/videos/${first}?with=${second}`
    const { page, close, screenshot } = await openConsole(browser, { app, as: other, path, ...look })
    await clips(page)
    const [one, two] = await Promise.all([0, 1].map(async (at) => (await page.locator('video').nth(at).boundingBox())!))
    const isBeside: boolean = look.width > 1000 || second === made[1]
    assert.equal(Math.abs(one!.y - two!.y) < 2, isBeside, `${one!.y} and ${two!.y}`)
    if (isBeside) assert.ok(Math.abs(one!.height - two!.height) < 2, `${one!.height} and ${two!.height}`)
    for (const control of [page.getByRole('slider'), page.getByRole('combobox'), page.getByRole('radio').last()]) {
      const { y, height } = (await control.boundingBox())!
      assert.ok(y + height <= look.height, `${y} + ${height} of ${look.height}`)
    }
    await screenshot(`compare-controls-${look.width}-${look.language}`)
    await close()
  }
})

test('the clip to compare with is searched for and known by its name, star, model and ratio', async () => {
  await send(
    app,
    'PATCH',
    '/console/videos/labels',
    { cookie: own.cookie },
    { ids: [ids[1]], name: 'The long one', favorite: true },
  )
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: `/videos/${ids[0]}` })
  await button(page, 'Compare').click()
  const picker = page.getByRole('dialog')
  const choice = picker.getByRole('button', { name: /The long one Middle clip instant-1 16:9/ })
  await choice.getByRole('img', { name: 'Favorites' }).waitFor()
  await picker.getByRole('button', { name: 'Newest clip' }).waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('compare-picker')
  await picker.getByRole('searchbox').fill('long one')
  await picker.getByRole('button', { name: 'Newest clip' }).waitFor({ state: 'detached' })
  await choice.waitFor()
  await picker.getByRole('searchbox').fill('no such clip')
  await picker.getByText('No videos match').waitFor()
  await picker.getByRole('searchbox').fill('')
  await choice.click()
  await page.locator('[data-compared=second]').getByRole('link', { name: 'The long one', exact: true }).waitFor()
  await page.getByLabel('First video: Oldest clip', { exact: true }).waitFor()
  await page.getByLabel('Second video: The long one', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'The long one' }).click()
  await heading(page, 'The long one').waitFor()
  await page.getByLabel('Video: The long one', { exact: true }).waitFor()
  await close()
})
