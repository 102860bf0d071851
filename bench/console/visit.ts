import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContext, type Page, chromium as playwright } from 'playwright-core'
import { chromiumPath } from '../../test/support/browser/chromium.ts'
import { buildConsoleWhenStale } from '../../test/support/browser/console-build.ts'
import type { BenchService } from '../support/service.ts'

/** With the console as it is built from the sources now. */
export async function launchBrowser(): Promise<Browser> {
  buildConsoleWhenStale()
  const args = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking']
  return playwright.launch({ executablePath: await chromiumPath(), args })
}

/** The cookie of the first person of the service. */
export async function signIn({ url, dir }: BenchService): Promise<string> {
  const { email, password } = JSON.parse(readFileSync(join(dir, 'data', 'first-run.json'), 'utf8'))
  const answer = await fetch(`${url}/console/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  if (!answer.ok) throw new Error(`not signed in: ${answer.status}`)
  return answer.headers.getSetCookie()[0]!.split(';', 1)[0]!
}

/** A visit with an empty cache. Close its context. */
export async function visit(
  browser: Browser,
  { url }: Pick<BenchService, 'url'>,
  cookie: string,
): Promise<[BrowserContext, Page]> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' })
  const at = cookie.indexOf('=')
  await context.addCookies([{ name: cookie.slice(0, at), value: cookie.slice(at + 1), url }])
  return [context, await context.newPage()]
}
