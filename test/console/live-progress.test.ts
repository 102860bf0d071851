import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { runningJobs, startLiveJobs } from '../support/browser/live-jobs.ts'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { openBrowser, openConsole } from './browser/browser.ts'

type LiveJobs = Awaited<ReturnType<typeof startLiveJobs>>

let app: TestApp
let live: LiveJobs
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  live = await startLiveJobs(app.url)
})
after(async () => {
  await live?.close()
  await app?.close()
})

/** The gallery with these jobs, of somebody who has none at the service. */
async function openGallery(jobs: ReturnType<typeof runningJobs>) {
  const opened = await openConsole(browser, { app: live, as: await newCustomer(app), path: '/settings' })
  // Once the stream is ready, the session and all lists are read again: read later than that, the list is as it was sent.
  await opened.page.waitForFunction(() => {
    const read = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/console/session'))
    return read.length > 1
  })
  await opened.page.getByRole('navigation').getByRole('link', { name: 'Videos', exact: true }).click()
  await opened.page.getByText('Describe your first video').waitFor()
  live.send(jobs)
  await card(opened.page, jobs.at(-1)!.prompt).waitFor()
  return opened
}

const card = (page: Page, prompt: string) =>
  page.getByRole('list', { name: 'Videos, newest first' }).getByRole('link', { name: prompt })

test('ten thousand events of 200 jobs are shown in a few steps a second, each job as it was last', async () => {
  const jobs = runningJobs(200)
  const { page, close } = await openGallery(jobs)
  await page.evaluate(() => {
    const drawn = { count: 0, from: performance.now() }
    const options = { subtree: true, childList: true, attributes: true, characterData: true }
    new MutationObserver(() => (drawn.count += 1)).observe(document.querySelector('main')!, options)
    Object.assign(window, { drawn })
  })
  for (let progress = 1; progress <= 50; progress += 1) live.send(jobs.map((job) => ({ ...job, progress })))
  for (const { prompt } of [jobs[199]!, jobs[198]!])
    await card(page, prompt).locator('[role=progressbar][aria-valuenow="50"]').waitFor()
  const { steps, seconds } = await page.evaluate(() => {
    const { drawn } = window as unknown as { drawn: { count: number; from: number } }
    return { steps: drawn.count, seconds: (performance.now() - drawn.from) / 1000 }
  })
  // Twice a second, once a second the time, and at the begin and end of what was sent.
  assert.ok(steps <= 3 * seconds + 4, `${steps} steps in ${seconds} s`)
  await close()
})

test('a job that has ended stays ended when an older event comes late, and one that was deleted is gone', async () => {
  const jobs = runningJobs(3)
  const { page, close } = await openGallery(jobs)
  const ended = { ...jobs[0]!, status: 'canceled' as const, completed_at: jobs[0]!.created_at }
  live.send([ended, { ...jobs[1]!, progress: 10 }])
  await card(page, 'Job 0').and(page.locator('[data-job-status=canceled]')).waitFor()
  live.send([jobs[0]!, { id: jobs[2]!.id, object: 'video', deleted: true }, { ...jobs[1]!, progress: 20 }])
  await card(page, 'Job 1').locator('[aria-valuenow="20"]').waitFor()
  assert.equal(await card(page, 'Job 0').getAttribute('data-job-status'), 'canceled')
  assert.equal(await card(page, 'Job 2').count(), 0)
  await close()
})

test('the wheel over the form scrolls the page once the form is at its end', async () => {
  const { page, close } = await openGallery(runningJobs(60))
  await page.getByLabel('Prompt', { exact: true }).hover()
  await page.mouse.wheel(0, 4000)
  await page.mouse.wheel(0, 400)
  await page.waitForFunction(() => window.scrollY > 0)
  await close()
})
