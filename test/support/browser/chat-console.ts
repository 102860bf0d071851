import type { Browser, Page } from 'playwright-core'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../http/app.ts'
import { send } from '../http/send.ts'
import { type ChatUpstream, startChatUpstream } from '../upstream/chat-upstream.ts'
import { type ConsoleOptions, openBrowser, openConsole } from './browser.ts'

export type ChatConsole = Awaited<ReturnType<typeof startChatConsole>>

/** The sandbox, a model of a scriptable server, and one that takes nothing but text. */
function configFor({ url }: ChatUpstream): string {
  const upstream = { kind: 'openai', base_url: url, model: 'upstream' }
  const price_per_million = { input: '0.10', cached_input: '0.05', output: '0.40' }
  const able = { capabilities: ['vision', 'tools', 'reasoning', 'structured_outputs', 'logprobs'] }
  const efforts = { reasoning_efforts: ['low', 'medium', 'high'] }
  const chat_models = [
    { id: 'sandbox-1', name: 'Sandbox', engine: 'sandbox', ...able, ...efforts, price_per_million },
    { id: 'org/scripted', name: 'Scripted', engine: upstream, capabilities: ['tools'], price_per_million },
    { id: 'plain', name: 'Plain', engine: 'sandbox', price_per_million },
  ]
  const video_models = [{ id: 'instant-1', engine: 'instant', per_second: '0.010000' }]
  return `chat_models: ${JSON.stringify(chat_models)}\nvideo_models: ${JSON.stringify(video_models)}\n`
}

/** The service before a scriptable chat server, a browser, and visits to the chat page of the console. */
export async function startChatConsole() {
  const browser: Browser = await openBrowser()
  const upstream = await startChatUpstream()
  const app: TestApp = await startApp({ config: configFor(upstream) })
  return {
    app,
    browser,
    upstream,
    /** A visit of somebody new, or of the person given. */
    async visit(options: Omit<ConsoleOptions, 'app'> & { person?: TestPerson; model?: string } = {}) {
      const { person: known, model, ...rest } = options
      const person = known ?? (await newCustomer(app))
      const visit = await openConsole(browser, { app, as: person, path: '/chat', ...rest })
      const chat = chatOn(visit.page, rest.language ?? 'en')
      if (model) await chat.choose(model)
      return { ...visit, person, chat }
    },
    /** The newest entries of the person's ledger. */
    ledger: async (person: TestPerson) =>
      (await send(app, 'GET', '/console/ledger', { cookie: person.cookie })).body.data,
    async close() {
      await app.close()
      await upstream.close()
    },
  }
}

const WORDS = {
  en: { message: 'Your message', model: /^Model:/ },
  ja: { message: 'メッセージ', model: /^モデル：/ },
}

/** The chat page as a person uses it. */
function chatOn(page: Page, language: 'en' | 'ja') {
  const words = WORDS[language]
  const box = page.getByRole('textbox', { name: words.message, exact: true })
  const answers = page.locator('article[data-status]')
  return {
    box,
    answers,
    /** Sends a message and waits for the answer to end, its cost included. */
    async send(text: string): Promise<void> {
      const count = await page.locator('[data-cost]').count()
      await box.fill(text)
      await box.press('Enter')
      await page.locator('[data-cost]').nth(count).waitFor()
    },
    async choose(name: string): Promise<void> {
      const opener = page.getByRole('button', { name: words.model })
      await opener.click()
      await page.getByRole('menuitemradio', { name }).click()
      // The menu gives the focus back as it goes: a key pressed before that would go to its opener.
      await page.getByRole('menu').waitFor({ state: 'detached' })
      await page.waitForFunction((button) => document.activeElement === button, await opener.elementHandle())
    },
    /** Costs of the answers, as decimal strings. */
    costs: () =>
      page.locator('[data-cost]').evaluateAll((all) => all.map((each) => (each as HTMLElement).dataset.cost ?? '')),
    spent: () => page.locator('[data-spent]').getAttribute('data-spent'),
  }
}
