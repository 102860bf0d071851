import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, CDPSession } from 'playwright-core'
import { runningJobs, startLiveJobs } from '../../test/support/browser/live-jobs.ts'
import { QUICK } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import { startService } from '../support/service.ts'
import { launchBrowser, signIn, visit } from './visit.ts'

const ROUNDS = QUICK ? 2 : 5
const JOBS = 200
const SECONDS = 10
/** How much slower the browser's processor is made, as a phone's is. */
const THROTTLE = 4
/** The events of a second come in so many portions, evenly. */
const PORTIONS = 10

/** Whether the gallery stays usable while 200 jobs render and each sends two events a second. */
export async function runLive(): Promise<Row[]> {
  const browser = await launchBrowser()
  const service = await startService()
  const live = await startLiveJobs(service.url)
  try {
    const cookie = await signIn(service)
    const rounds: Busy[] = []
    while (rounds.length < ROUNDS) rounds.push(await watch(browser, live, cookie))
    const name = `Console, ${JOBS} running jobs with two events a second each, processor slowed ${THROTTLE} times`
    return [
      rowOf({
        name: `${name}, longest task of the main thread`,
        unit: 'ms',
        rounds: rounds.map(({ longest }) => longest),
        limit: 50,
      }),
      rowOf({
        name: `${name}, main thread busy`,
        unit: '%',
        rounds: rounds.map(({ percent }) => percent),
        limit: 30,
      }),
    ]
  } finally {
    await live.close()
    await browser.close()
    await service.stop()
  }
}

/** The longest task in milliseconds, and how much of the time the main thread was busy. */
type Busy = { longest: number; percent: number }

async function watch(browser: Browser, live: Awaited<ReturnType<typeof startLiveJobs>>, cookie: string): Promise<Busy> {
  const [context, page] = await visit(browser, live, cookie)
  try {
    await page.goto(`${live.url}/videos`)
    await page.getByText('Describe your first video').waitFor()
    const jobs = runningJobs(JOBS)
    live.send(jobs)
    await page.getByRole('link', { name: `Job ${JOBS - 1}` }).waitFor()
    const session = await context.newCDPSession(page)
    await session.send('Performance.enable')
    await session.send('Emulation.setCPUThrottlingRate', { rate: THROTTLE })
    await page.evaluate(NOTE_LONG_TASKS)
    const before = await busySeconds(session)
    const from = performance.now()
    for (let portion = 0; portion < SECONDS * PORTIONS; portion += 1) {
      const half = PORTIONS / 2
      const changed = jobs.filter((_, at) => at % half === portion % half)
      live.send(changed.map((job) => ({ ...job, progress: Math.floor(portion / half) })))
      await pause(1000 / PORTIONS)
    }
    const busy = (await busySeconds(session)) - before
    const longest = (await page.evaluate('Math.max(0, ...longTasks)')) as number
    return { longest, percent: (busy / ((performance.now() - from) / 1000)) * 100 }
  } finally {
    await context.close()
  }
}

/** Of the main thread, since the page began. */
async function busySeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')!.value
}

/** Runs in the page, whose types this folder does not have. Only tasks of 50 ms and more are reported to it. */
const NOTE_LONG_TASKS = `window.longTasks = []
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) longTasks.push(duration)
}).observe({ entryTypes: ['longtask'] })`
