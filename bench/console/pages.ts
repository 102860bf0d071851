import type { Browser } from 'playwright-core'
import { median } from '../support/figure.ts'
import { QUICK } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import { type BenchService, startService } from '../support/service.ts'
import { insertJobs } from '../videos/list.ts'
import { launchBrowser, signIn, visit } from './visit.ts'

const ROUNDS = QUICK ? 2 : 5
const FEW = 1000
const MANY = 10_000
const STEPS = 240

/** Time until the console is usable, and whether a list of 10,000 jobs scrolls as smoothly as a short one, in a real browser. */
export async function runPages(): Promise<Row[]> {
  const browser = await launchBrowser()
  const service = await startService()
  try {
    const cookie = await signIn(service)
    await insertJobs(service, { from: 0, to: FEW })
    const opened: number[] = []
    for (let round = 0; round <= ROUNDS; round++) opened.push(await timeToUse(browser, service, cookie))
    const scrolls = async () => {
      const rounds: Scrolled[] = []
      while (rounds.length < ROUNDS) rounds.push(await scroll(browser, service, cookie))
      return rounds
    }
    const few = await scrolls()
    await insertJobs(service, { from: FEW, to: MANY })
    const many = await scrolls()
    // The first visit only warms up the service and the browser.
    return [openedRow(opened.slice(1)), ...scrollRows(many, few)]
  } finally {
    await browser.close()
    await service.stop()
  }
}

function openedRow(milliseconds: number[]): Row {
  return rowOf({
    name: 'Console, from the address to a prompt that takes keys, nothing cached',
    unit: 'ms',
    rounds: milliseconds,
    limit: 1000,
  })
}

/** The 95th percentile of the time between frames while the list moves, in milliseconds, and how many cards were in the page at once. */
type Scrolled = { p95: number; cards: number }

/** Frames of at most 50 ms are smooth; where the browser cannot draw as fast, the long list is as smooth as the short one. */
function scrollRows(many: Scrolled[], few: Scrolled[]): Row[] {
  const name = 'Console, scrolling through 10,000 jobs'
  const rounds = (of: readonly Scrolled[], what: keyof Scrolled) => of.map((each) => each[what])
  const p95 = rounds(many, 'p95')
  const smooth = median(p95) <= 50
  return [
    rowOf({
      name: `${name}, time between frames, p95`,
      unit: 'ms',
      rounds: p95,
      ...(smooth && { limit: 50 }),
      yardsticks: [{ name: 'with 1,000 jobs', rounds: rounds(few, 'p95'), ...(!smooth && { ratio_limit: 1.1 }) }],
    }),
    rowOf({ name: `${name}, most cards in the page`, unit: 'cards', rounds: rounds(many, 'cards') }),
  ]
}

async function timeToUse(browser: Browser, service: BenchService, cookie: string): Promise<number> {
  const [context, page] = await visit(browser, service, cookie)
  try {
    const from = performance.now()
    await page.goto(`${service.url}/videos`, { waitUntil: 'commit' })
    await page.getByLabel('Prompt').fill('a')
    await page.getByRole('list', { name: 'Videos, newest first' }).getByRole('link').first().waitFor()
    return performance.now() - from
  } finally {
    await context.close()
  }
}

/** Moves the list by a few hundred pixels a frame for as long as the run takes, and notes each frame. */
async function scroll(browser: Browser, service: BenchService, cookie: string): Promise<Scrolled> {
  const [context, page] = await visit(browser, service, cookie)
  try {
    await page.goto(`${service.url}/videos`)
    await page.getByRole('list', { name: 'Videos, newest first' }).getByRole('link').first().waitFor()
    const { frames, cards } = (await page.evaluate(SCROLL)) as { frames: number[]; cards: number }
    frames.sort((a, b) => a - b)
    const at = (share: number) => frames[Math.min(frames.length - 1, Math.floor(frames.length * share))]!
    return { p95: at(0.95), cards }
  } finally {
    await context.close()
  }
}

/** Runs in the page, whose types this folder does not have. */
const SCROLL = `new Promise((resolve) => {
  const frames = []
  let cards = 0
  let last = performance.now()
  const step = (now) => {
    frames.push(now - last)
    last = now
    cards = Math.max(cards, document.querySelectorAll('main a[href^="/videos/"]').length)
    if (frames.length > ${STEPS}) return resolve({ frames: frames.slice(1), cards })
    window.scrollBy(0, 240)
    requestAnimationFrame(step)
  }
  requestAnimationFrame(step)
})`
