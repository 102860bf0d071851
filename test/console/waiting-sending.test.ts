import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page, Request, Response, Route } from 'playwright-core'
import { BALANCE_TOPIC } from '../../server/billing/balance-changes.ts'
import { grantCredits } from '../../server/billing/ledger.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { PASSWORD } from '../support/http/people.ts'
import { send } from '../support/http/send.ts'
import { submit } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'
import { generate, prompt, waitingRows as rows, wait } from './video-studio.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 1 } }
video_models:
  - { id: instant-1, name: Quick, engine: instant, per_second: "0.010000" }
`

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
})
after(() => app?.close())

const storedNames = (page: Page) => page.evaluate(() => Object.keys(localStorage).join())
const isPost = (each: Request | Response) =>
  ('status' in each ? each.request() : each).method() === 'POST' && new URL(each.url()).pathname === '/v1/videos'
/** Answers what creates videos in its own way. */
const onCreate = (page: Page, answer: (route: Route) => Promise<void>) =>
  page.route('**/v1/videos', (route) => (isPost(route.request()) ? answer(route) : route.fallback()))
/** Asks for a video whose answer is withheld until `release`. */
async function submitSlowly(page: Page, text: string): Promise<{ release(): Promise<unknown> }> {
  const released = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  await onCreate(page, async (route) => {
    const response = await route.fetch()
    arrived.resolve()
    await released.promise
    await route.fulfill({ response })
  })
  await prompt(page).fill(text)
  await generate(page).click()
  await arrived.promise
  return {
    release() {
      const refused = page.waitForResponse((each) => isPost(each) && each.status() === 429)
      released.resolve()
      return refused
    },
  }
}
async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
}
async function grant(amount: bigint, { org_id }: TestPerson): Promise<void> {
  const entry = { org_id, amount, note: 'More', user_id: null, now: app.clock.now() }
  await app.database.db.transaction().execute((tx) => grantCredits(tx, entry))
  app.ctx.changes.announce(BALANCE_TOPIC, org_id)
}
const RATE_LIMITED = {
  status: 429,
  headers: { 'retry-after': '60' },
  json: { error: { message: '', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' } },
}
/** The prompts of the jobs of an organization, the first one first. */
const made = async (own: TestPerson) =>
  (await send(app, 'GET', '/v1/videos?order=asc', own)).body.data.map((each: { prompt: string }) => each.prompt)

test('what may have been made a day ago is not sent again by itself', async () => {
  const own = await newCustomer(app)
  await submit(app, own, { prompt: 'Running' })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 429|ERR_FAILED/)
  await wait(page, 'Lost')
  await onCreate(page, async (route) => {
    await route.fetch()
    await route.abort()
  })
  const lost = page.waitForEvent('requestfailed', isPost)
  await app.tick()
  await lost
  await page.clock.install({ time: Date.now() + 86_400_000 })
  await page.reload()
  await rows(page).getByText('may have been made').waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await page.unrouteAll()
  await page.getByRole('button', { name: 'Send again: Lost' }).click()
  await rows(page).first().waitFor({ state: 'detached' })
  assert.deepEqual(await made(own), ['Running', 'Lost'])
  await close()
})

test('what begins to wait after the page of videos was closed is sent from another page', async () => {
  const own = await newCustomer(app)
  await submit(app, own, { prompt: 'Running' })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 429/)
  await page.clock.install()
  await page.reload()
  const submission = await submitSlowly(page, 'Late')
  await page.getByRole('link', { name: 'Usage' }).click()
  await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor()
  await submission.release()
  await page.getByText('This one waits').first().waitFor()
  const sent = page.waitForResponse((each) => isPost(each) && each.status() === 200)
  await app.tick()
  await page.clock.runFor(15_000)
  await sent
  assert.deepEqual(await made(own), ['Running', 'Late'])
  await close()
})

test('signing out removes what waits, and asks before', async () => {
  const own = await newCustomer(app)
  await submit(app, own, { prompt: 'Running' })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of (429|401)/)
  await wait(page, 'Waiting')
  await signOut(page)
  const question = page.getByRole('dialog', { name: 'Sign out?' })
  await question.getByText('1 video is waiting in this browser').waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await question.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await rows(page).count(), 1)
  await signOut(page)
  await question.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Email').waitFor()
  assert.doesNotMatch(await storedNames(page), /waiting/)
  await close()
})

test('a prompt that is refused after its author signed out is not stored', async () => {
  const own = await newCustomer(app)
  await submit(app, own, { prompt: 'Running' })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of (429|401)/)
  const submission = await submitSlowly(page, 'Secret')
  await signOut(page)
  await page.getByLabel('Email').fill(own.email)
  await submission.release()
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Running' }).waitFor()
  assert.equal(await rows(page).count(), 0)
  assert.doesNotMatch(await storedNames(page), /waiting/)
  await close()
})

test('the list asks when a hold is released, not at other changes of the balance, and not before the rate limit allows', async () => {
  const own = await newCustomer(app)
  await submit(app, own, { prompt: 'Running' })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  allow(/status of 429/)
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 1000)
  await page.reload()
  const codes: string[] = []
  await onCreate(page, async (route) => {
    const answer = codes.length === 1 ? RATE_LIMITED : { response: await route.fetch() }
    codes.push('json' in answer ? 'limited' : String(answer.response.status()))
    await route.fulfill(answer)
  })
  const waits = wait(page, 'Next')
  // What is loaded later is shown only when the page's clock goes on.
  while ((await rows(page).count()) === 0) await page.clock.runFor(20)
  await waits
  for (const balance of ['$100.96', '$101.96']) {
    await grant(100_000_000n, own)
    await page.clock.runFor(3000)
    await page.getByRole('complementary').getByText(balance).waitFor()
  }
  assert.deepEqual(codes, ['429'])
  await app.tick()
  while (codes.length < 2) await page.clock.runFor(500)
  for (let n = 0; n < 3; n += 1) {
    await page.clock.runFor(15_000)
    await page.evaluate(() => fetch('/console/session').then((answer) => answer.text()))
  }
  const sent = page.waitForResponse((each) => isPost(each) && each.status() === 200)
  await page.clock.runFor(30_000)
  await sent
  assert.deepEqual(codes, ['429', 'limited', '200'])
  await close()
})
