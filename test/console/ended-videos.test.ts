import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { newColleague, newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { submit, tickUntil } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 100 } }
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

const toasts = (page: Page) => page.getByRole('region', { name: /Notifications|通知一覧/ }).getByRole('listitem')
const spoken = (page: Page, text: string) => page.locator('[role=status][aria-live=assertive]', { hasText: text })
const titled = (page: Page, title: string) => page.waitForFunction((wanted) => document.title === wanted, title)
/** What {@link countLive} counts. */
type Counted = { live: boolean; ended: number }
/** Live events are connected: what ends from now on is announced. */
const isLive = (page: Page) => page.waitForFunction(() => (window as unknown as Counted).live)

/** Stops the clock of a page until it has received the ends of `count` jobs, however long there is between them. */
async function receiveTogether(page: Page, count: number) {
  await page.clock.pauseAt(Date.now() + 60_000)
  await tickUntil(
    app,
    page.waitForFunction((wanted) => (window as unknown as Counted).ended === wanted, count),
  )
  await page.clock.resume()
}

/** Sets, in `window`, whether live events are connected, and of how many jobs the page has received the ends. */
function countLive(): void {
  if (location.protocol === 'about:') return
  const counted = Object.assign(window, { live: false, ended: 0 })
  const ended = new Set<string>()
  window.EventSource = class extends EventSource {
    constructor(url: string | URL) {
      super(url)
      this.addEventListener('ready', () => {
        counted.live = true
      })
      // A job that changes while its end is read is sent once more.
      this.addEventListener('own_video_ended', ({ data }) => {
        ended.add(JSON.parse(data).id)
        counted.ended = ended.size
      })
    }
  }
}

/** A page of the console that listens to live events. */
async function openListening(options: Parameters<typeof openConsole>[1]) {
  const opened = await openConsole(browser, { ...options, path: '/sign-in' })
  await opened.context.addInitScript(countLive)
  await opened.page.clock.install()
  await opened.page.goto(app.url + options.path!)
  await isLive(opened.page)
  return opened
}

test('jobs that end together are announced in one toast, counted in the title and spoken once; those of others are not', async () => {
  const own = await newCustomer(app)
  const colleague = await newColleague(app, own.org_id)
  const { page, close, screenshot } = await openListening({ app, as: own, path: '/files' })
  for (const prompt of ['A boat', 'A ship']) await submit(app, own, { prompt })
  await submit(app, colleague, { prompt: 'A raft' })
  await receiveTogether(page, 2)
  await toasts(page).getByText('2 videos are ready.').waitFor()
  assert.equal(await toasts(page).count(), 1)
  assert.equal(await spoken(page, '2 videos are ready.').count(), 1)
  await titled(page, '(2) Files · Kinora')
  await screenshot('ended-toast')
  assert.deepEqual(await findBarriers(page), [])
  await toasts(page).getByRole('link', { name: 'Open videos' }).click()
  await titled(page, 'Videos · Kinora')
  await close()
})

test('jobs that end shortly after each other are counted in one toast, but none is taken from under the focus', async () => {
  const own = await newCustomer(app)
  const { page, close } = await openListening({ app, as: own, path: '/files' })
  const end = async (prompt: string, said: string) => {
    await submit(app, own, { prompt })
    await tickUntil(app, toasts(page).getByText(said).waitFor())
  }
  await end('A boat', '“A boat” is ready.')
  await end('A ship', '2 videos are ready.')
  await end('It breaks', '2 videos are ready. 1 video failed.')
  assert.equal(await toasts(page).count(), 1)
  await toasts(page).getByRole('link', { name: 'Open videos' }).focus()
  await end('A raft', '“A raft” is ready.')
  assert.equal(await toasts(page).count(), 2)
  await close()
})

test('a job that failed is announced with its reason and a link, but not on its own page', async () => {
  const own = await newCustomer(app)
  const { body: shown } = await submit(app, own, { prompt: 'Shown here' })
  const path = `/videos/${shown.id}`
  const { page, close } = await openListening({ app, as: own, path, language: 'ja' })
  const { body: failing } = await submit(app, own, { prompt: 'It breaks' })
  const named = { ids: [failing.id], name: '壊れた舟' }
  await send(app, 'PATCH', '/console/videos/labels', { cookie: own.cookie }, named)
  await tickUntil(
    app,
    toasts(page).getByText('「壊れた舟」は失敗しました。レンダラーがこの動画を作成できませんでした。').waitFor(),
  )
  assert.equal(await toasts(page).count(), 1)
  await titled(page, '(1) Shown here · Kinora')
  assert.deepEqual(await findBarriers(page), [])
  await toasts(page).getByRole('link', { name: '動画を開く' }).click()
  await titled(page, '壊れた舟 · Kinora')
  await close()
})

test('a browser is asked for permission on a click only, and tabs that nobody looks at show one notification together', async () => {
  const own = await newCustomer(app)
  const { page, context, close } = await openListening({ app, as: own, path: '/settings', cold: true })
  await context.addInitScript(() => {
    if (location.protocol === 'about:') return
    const shown: string[] = []
    const Recorder = Object.assign(
      function record(_title: string, { body, tag }: { body: string; tag: string }) {
        shown.push(`${tag}: ${body}`)
      },
      {
        permission: localStorage.getItem('granted') ?? 'default',
        async requestPermission() {
          localStorage.setItem('granted', 'granted')
          Recorder.permission = 'granted'
          return 'granted'
        },
      },
    )
    Object.assign(window, { Notification: Recorder, shown })
    Object.defineProperty(document, 'hidden', { get: () => 'away' in window })
  })
  await page.reload()
  const section = page.getByRole('region', { name: 'Notifications' })
  await section.getByText('Off in this browser').waitFor()
  assert.equal(await page.evaluate(() => Notification.permission), 'default')
  await section.getByRole('button', { name: 'Turn on' }).click()
  await section.getByText('On in this browser').waitFor()
  const second = await context.newPage()
  await second.goto(`${app.url}/keys`)
  await isLive(second)
  for (const tab of [page, second]) await tab.evaluate(() => Object.assign(window, { away: true }))
  const { body } = await submit(app, own, { prompt: 'A boat' })
  for (const tab of [page, second]) {
    await tickUntil(
      app,
      tab.waitForFunction(() => (window as unknown as { shown: string[] }).shown.length > 0),
    )
    const shown = await tab.evaluate(() => (window as unknown as { shown: string[] }).shown)
    assert.deepEqual(shown, [`kinora.${body.id}: “A boat” is ready.`])
  }
  await close()
})
