import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { newColleague, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { newOrganization } from '../support/http/people.ts'
import { send } from '../support/http/send.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { openBrowser, openConsole } from './browser/browser.ts'

const LONG = 'Überlangername'.repeat(7)
const SENTENCE = 'An animatic of your prompt, frames and references, for trying things out. Not a generative model.'
const CONFIG = `
video_models:
  - { id: instant-1, name: "${LONG}", description: "${SENTENCE}", engine: instant, per_second: "0.01" }
chat_models:
  - { id: sandbox-1, name: "${LONG}", engine: sandbox, price_per_million: { input: "0.10", output: "0.40" } }
`

let app: TestApp
let browser: Browser
let person: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
  person = await newColleague(app, await newOrganization(app, LONG), { role: 'owner' })
  const caller = { cookie: person.cookie }
  await send(app, 'PATCH', '/console/profile', caller, { name: LONG })
  await send(app, 'POST', '/console/api_keys', caller, { name: LONG })
  const second = await newOrganization(app, `${LONG}2`)
  const host = await newColleague(app, second, { role: 'owner' })
  const body = { email: person.email, role: 'member' }
  const invitation = await send(app, 'POST', '/console/invitations', { cookie: host.cookie }, body)
  await send(app, 'POST', '/console/invitations/accept', caller, { token: invitation.body.token })
  await send(app, 'POST', '/console/session/organization', caller, { organization_id: person.org_id })
  const form = new FormData()
  form.set('purpose', 'user_data')
  form.set('file', new File(['text'], `${LONG}.txt`))
  await fetch(`${app.url}/v1/files`, { method: 'POST', body: form, headers: { authorization: `Bearer ${person.key}` } })
})
after(() => app?.close())

/** Texts that are cut off, by an ellipsis or by what surrounds them; and whether the page scrolls sideways. */
function cutOff(page: Page, ...names: string[]): Promise<string[]> {
  return page.evaluate((parts) => {
    const wrong: string[] = []
    if (document.documentElement.scrollWidth > innerWidth) wrong.push('the page scrolls sideways')
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement!
      if (!parts.some((part) => node.textContent!.includes(part)) || parent.closest('option, .sr-only, title')) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      const text = range.getBoundingClientRect()
      if (text.width === 0) continue
      for (let box: HTMLElement | null = parent; box && box !== document.body; box = box.parentElement) {
        const { overflowX, textOverflow } = getComputedStyle(box)
        const { left, right } = box.getBoundingClientRect()
        const spills = text.right > right + 1 || text.left < left - 1
        if (spills && (overflowX !== 'visible' || textOverflow === 'ellipsis')) {
          wrong.push(`${box.tagName} ${box.className}`)
          break
        }
      }
      if (text.right > innerWidth + 1) wrong.push(`outside of the window: ${parent.tagName} ${parent.className}`)
    }
    return wrong
  }, names)
}

for (const width of firstUnlessCheck([390, 1280])) {
  test(`names of a hundred letters wrap on every page, in menus and in dialogs, at ${width} pixels`, async () => {
    const { page, close, screenshot } = await openConsole(browser, { app, as: person, width, path: '/keys' })
    const check = async (what: string) => {
      assert.deepEqual(await cutOff(page, LONG, SENTENCE), [], what)
      await screenshot(`long-${what}-${width}`)
    }
    for (const path of ['keys', 'members', 'files', 'settings', 'videos', 'chat', 'billing', 'usage']) {
      await page.goto(`${app.url}/${path}`)
      await page.locator('[data-page-title]').waitFor({ state: 'attached' })
      if (path !== 'settings' && path !== 'billing' && path !== 'usage')
        await page.locator('main').getByText(LONG).first().waitFor()
      await check(path)
    }
    await page.goto(`${app.url}/keys`)
    await page.getByRole('button', { name: 'Revoke' }).first().click()
    await page
      .getByRole('dialog')
      .getByText(/Revoke/)
      .first()
      .waitFor()
    await check('dialog')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    if (width < 1024) await page.getByRole('button', { name: 'Open navigation' }).click()
    await page.getByRole('button', { name: /^Organization/ }).click()
    await page.getByRole('menuitemradio').first().waitFor()
    await check('organizations')
    await close()
  })
}
