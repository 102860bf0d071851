import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'

export type Language = 'en' | 'ja'

/** An empty page in a context without cookies, storage, routes and permissions. */
export type Tab = {
  context: BrowserContext
  page: Page
  /** Of the page. */
  session: CDPSession
  language: Language
  /** Keeps the process of the page running between visits. Null when the tab is used once. */
  anchor: Page | null
}

export const SIZE = { width: 1280, height: 800 }
const LOOK = { colorScheme: 'light', reducedMotion: 'reduce', forcedColors: 'none' } as const

/** Longest a page may take to show what a test waits for, on a busy machine. */
const TIMEOUT_MS = 90_000

/** What a test may listen to on a page. */
const EVENTS = ['console', 'dialog', 'download', 'pageerror', 'popup', 'request', 'requestfailed', 'response'] as const

const free = new WeakMap<Browser, Tab[]>()

/**
 * A tab that nobody else has until `returnTab`. After an earlier visit its process runs and has the scripts of the console, which saves about
 * half of a visit's processor time. A visit that failed or set the clock does not return its tab. A cold tab has nothing cached.
 */
export async function takeTab(browser: Browser, options: { url: string; language: Language; cold: boolean }) {
  const { url, language, cold } = options
  const list = free.get(browser) ?? []
  free.set(browser, list)
  const index = cold ? -1 : list.findIndex((tab) => tab.language === language)
  if (index >= 0) return list.splice(index, 1)[0]!
  const context = await newContext(browser, language)
  const anchor = cold ? null : await context.newPage()
  await anchor?.goto(`${url}/healthz`)
  const page = await context.newPage()
  return { context, page, session: await context.newCDPSession(page), language, anchor }
}

/** Goes to the first page of a visit, with nothing stored in the tab and no way back. */
export async function enter({ page, session }: Tab, url: string): Promise<void> {
  await session.send('Page.enable')
  const source = 'sessionStorage.clear()'
  const { identifier } = await session.send('Page.addScriptToEvaluateOnNewDocument', { source })
  await page.goto(url)
  await session.send('Page.removeScriptToEvaluateOnNewDocument', { identifier })
  await session.send('Page.resetNavigationHistory')
}

/** Empties the tab for the next visit. `url` is the service that was visited. */
export async function returnTab(browser: Browser, tab: Tab, url: string): Promise<void> {
  const { context, page, session, anchor } = tab
  for (const event of EVENTS) page.removeAllListeners(event)
  // A handler of a route may still wait for its answer, which nobody needs once the page is gone. It would go on to the service
  // if the handler left first.
  for (const each of context.pages()) {
    if (each === anchor) continue
    if (each === page && anchor) await page.goto('about:blank')
    else await each.close()
    await each.unrouteAll({ behavior: 'ignoreErrors' }).catch(() => {})
  }
  await context.unrouteAll({ behavior: 'ignoreErrors' })
  if (!anchor || page.isClosed() || (await hasOwnClock(page))) return context.close()
  await session.send('Storage.clearDataForOrigin', { origin: new URL(url).origin, storageTypes: 'all' })
  await context.clearCookies()
  await context.clearPermissions()
  await context.setOffline(false)
  await page.mouse.move(0, 0)
  await page.setViewportSize(SIZE)
  await page.emulateMedia(LOOK)
  free.get(browser)?.push(tab)
}

/** Whether a test has set the clock of the tab, which holds for every later page of its context: timers and frames may stand still there. */
const hasOwnClock = (page: Page) => page.evaluate(() => !String(setTimeout).includes('[native code]'))

async function newContext(browser: Browser, language: Language): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: SIZE,
    locale: language === 'ja' ? 'ja-JP' : 'en-US',
    timezoneId: 'UTC',
    ...LOOK,
  })
  context.setDefaultTimeout(TIMEOUT_MS)
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
      console.error(`policy: ${violatedDirective} ${blockedURI} ${sourceFile}`)
    })
  })
  return context
}
