import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import {
  type Browser,
  type BrowserContext,
  type ConsoleMessage,
  type Page,
  chromium as playwright,
  type Request,
  type WebError,
} from 'playwright-core'
import { shareProcess } from '../../runner/open-handles.ts'
import { chromiumPath, fontsFile } from '../../support/browser/chromium.ts'
import { buildConsoleWhenStale } from '../../support/browser/console-build.ts'
import type { TestApp, TestPerson } from '../../support/http/app.ts'
import { enter, type Language, returnTab, SIZE, takeTab } from './tabs.ts'

export type ConsoleOptions = {
  app: Pick<TestApp, 'url'>
  /** Who is signed in; nobody when left out. */
  as?: Pick<TestPerson, 'cookie'>
  /** Where to begin; default `/`. */
  path?: string
  language?: Language
  theme?: 'light' | 'dark'
  /** Of the window, in pixels. */
  width?: number
  height?: number
  /** With nothing cached, as in a browser that has never been here. */
  cold?: boolean
}

let browser: Promise<Browser> | undefined

/** The browser of this process, which starts at the first call and ends with the process. It plays H.264, and needs no package of the system. */
export function openBrowser(): Promise<Browser> {
  browser ??= launch()
  return browser
}

async function launch(): Promise<Browser> {
  buildConsoleWhenStale()
  const launched = await playwright.launch({
    executablePath: await chromiumPath(),
    env: { ...process.env, FONTCONFIG_FILE: fontsFile() },
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--process-per-site'],
  })
  shareProcess()
  launched.once('disconnected', () => {
    browser = undefined
  })
  process.once('disconnect', () => void launched.close())
  return launched
}

/** Opens the console in an empty tab, signed in as `as`, and waits until it shows a page. */
export async function openConsole(browser: Browser, options: ConsoleOptions) {
  const { app, as, path = '/', language = 'en', theme = 'light', cold = false } = options
  const tab = await takeTab(browser, { url: app.url, language, cold })
  const { context, page } = tab
  const { width, height } = { ...SIZE, ...options }
  if (width !== SIZE.width || height !== SIZE.height) await page.setViewportSize({ width, height })
  if (theme === 'dark') await page.emulateMedia({ colorScheme: theme })
  if (as) await context.addCookies([cookieOf(as.cookie, app.url)])
  const { wrong, stop } = watchFaults(context, app.url)
  await enter(tab, app.url + path)
  await page.locator('[data-page-title]').first().waitFor()
  // How the console finds out that nobody is signed in.
  const allowed: RegExp[] = as ? [] : [/status of 401 .*\/console\/session\)$/]
  return {
    page,
    context,
    /** Allows what would fail the test: a pattern for texts of the console, such as that of an answer that is meant to be 404. */
    allow: (pattern: RegExp) => void allowed.push(pattern),
    /** Writes a picture when KINORA_SCREENSHOTS names a directory. */
    screenshot: (name: string) => screenshot(page, name),
    /** Ends the visit. Throws when the page logged an error, broke its policy or asked a foreign host. */
    async close() {
      await returnTab(browser, tab, app.url)
      stop()
      const faults = wrong.filter((text) => !allowed.some((pattern) => pattern.test(text)))
      if (faults.length > 0) throw new Error(`The console did wrong:\n  ${faults.join('\n  ')}`)
    },
  }
}

function cookieOf(cookie: string, url: string) {
  const at = cookie.indexOf('=')
  return { name: cookie.slice(0, at), value: cookie.slice(at + 1), url, httpOnly: true, sameSite: 'Lax' as const }
}

/** Everything that no page of the console may do, as lines of text that grow until `stop`. */
function watchFaults(context: BrowserContext, url: string): { wrong: string[]; stop: () => void } {
  const wrong: string[] = []
  const onConsole = (message: ConsoleMessage) => {
    if (message.type() === 'error' || message.type() === 'warning')
      wrong.push(`${message.type()}: ${message.text()} (${message.location().url})`)
  }
  const onError = (error: WebError) => void wrong.push(`thrown: ${error.error().stack}`)
  const onRequest = (request: Request) => {
    const { protocol, origin } = new URL(request.url())
    if (/^(https?|wss?):$/.test(protocol) && origin !== new URL(url).origin) wrong.push(`foreign: ${request.url()}`)
  }
  context.on('console', onConsole).on('weberror', onError).on('request', onRequest)
  return {
    wrong,
    stop: () => void context.off('console', onConsole).off('weberror', onError).off('request', onRequest),
  }
}

async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.KINORA_SCREENSHOTS
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`) })
}

export type AxeFinding = { id: string; impact: string; help: string; nodes: string[] }

/** What axe-core finds on the page that is serious or critical; run outside the page, whose policy refuses injected scripts. */
export async function findBarriers(page: Page): Promise<AxeFinding[]> {
  const session = await page.context().newCDPSession(page)
  const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  const run = `${source}; axe.run(document, { resultTypes: ['violations'], preload: false, iframes: false }).then(({ violations }) =>
    violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, impact, help, nodes }) =>
      ({ id, impact, help, nodes: nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary) })))`
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: run,
    awaitPromise: true,
    returnByValue: true,
  })
  await session.detach()
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
  return result.value as AxeFinding[]
}
