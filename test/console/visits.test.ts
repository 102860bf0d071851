import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
let person: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app?.close())

test('a visit ends without an error while a held answer is still on its way', async () => {
  const { page, close } = await openConsole(browser, { app, as: person })
  const upstream = createServer(() => {}).listen(0, '127.0.0.1')
  const asked = once(upstream, 'request')
  await once(upstream, 'listening')
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`
  await page.route('**/held', async (route) => route.fulfill({ response: await route.fetch({ url }) }))
  await page.evaluate(() => void fetch('/held').catch(() => {}))
  await asked
  try {
    await close()
  } finally {
    upstream.closeAllConnections()
    upstream.close()
  }
})

test('a visit finds nothing that an earlier one stored, set or was allowed', async () => {
  const state = (page: Page) =>
    page.evaluate(async () => ({
      stored: [Object.keys(localStorage), Object.keys(sessionStorage)].flat().filter((key) => key.startsWith('left')),
      databases: (await indexedDB.databases()).length,
      caches: (await caches.keys()).length,
      clipboard: (await navigator.permissions.query({ name: 'clipboard-read' as PermissionName })).state,
      dark: matchMedia('(prefers-color-scheme: dark)').matches,
      moves: !matchMedia('(prefers-reduced-motion: reduce)').matches,
      size: [innerWidth, innerHeight],
      entries: history.length,
      routed: (await fetch('/healthz')).status === 418,
    }))
  const clean = await openConsole(browser, { app, as: person, path: '/keys' })
  const before = await state(clean.page)
  assert.deepEqual([before.stored, before.dark, before.moves, before.size], [[], false, false, [1280, 800]])
  await clean.close()

  const first = await openConsole(browser, { app, as: person, path: '/files', theme: 'dark', width: 390 })
  await first.context.grantPermissions(['clipboard-read'])
  await first.context.route('**/healthz', (route) => route.fulfill({ status: 418 }))
  await first.page.emulateMedia({ reducedMotion: 'no-preference' })
  await first.page.evaluate(async () => {
    localStorage.setItem('left', '1')
    sessionStorage.setItem('left', '1')
    await new Promise((made) => indexedDB.open('left').addEventListener('success', made))
    await caches.open('left')
    history.pushState({}, '', '/keys')
  })
  first.allow(/status of 418/)
  assert.notDeepEqual(await state(first.page), before)
  await first.context.setOffline(true)
  first.allow(/ERR_INTERNET_DISCONNECTED|network_failed/)
  await first.close()

  const second = await openConsole(browser, { app, path: '/sign-in' })
  assert.deepEqual(await second.context.cookies(), [])
  await second.close()
  const third = await openConsole(browser, { app, as: person, path: '/keys' })
  assert.deepEqual(await state(third.page), before)
  await third.close()
})
