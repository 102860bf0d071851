import type { Browser, Page } from 'playwright-core'
import { newCustomer, type TestPerson } from '../../support/http/app.ts'
import { startChatService, type TestModel } from '../../support/http/chat-app.ts'
import { send } from '../../support/http/send.ts'
import { type ConsoleOptions, openBrowser, openConsole } from '../browser/browser.ts'

const PRICE = { price_per_million: { input: '0.10', cached_input: '0.05', output: '0.40' } }
const ABLE = {
  capabilities: ['vision', 'tools', 'reasoning', 'structured_outputs', 'logprobs'],
  reasoning_efforts: ['low', 'medium', 'high'],
}
/** The sandbox, a model of a scriptable server, and one that takes nothing but text. */
const MODELS: readonly TestModel[] = [
  { id: 'sandbox-1', name: 'Sandbox', engine: 'sandbox', ...ABLE, ...PRICE },
  { id: 'org/scripted', name: 'Scripted', capabilities: ['tools'], ...PRICE },
  { id: 'plain', name: 'Plain', engine: 'sandbox', ...PRICE },
]

/** Of a window with room for the settings beside the conversation. */
const WIDTH = 1440

export type ChatConsole = Awaited<ReturnType<typeof startChatConsole>>

/** The service before a scriptable chat server, a browser, and visits to the chat page of the console. */
export async function startChatConsole() {
  const browser: Browser = await openBrowser()
  const service = await startChatService(MODELS, { background: true })
  const { app } = service
  return {
    ...service,
    browser,
    /** A visit of somebody new, or of the person given. */
    async visit(options: Omit<ConsoleOptions, 'app'> & { person?: TestPerson; model?: string } = {}) {
      const { person: known, model, ...rest } = options
      const person = known ?? (await newCustomer(app))
      const visit = await openConsole(browser, { app, as: person, path: '/chat', width: WIDTH, ...rest })
      const chat = chatOn(visit.page, rest.language ?? 'en')
      if (model) await chat.choose(model)
      return { ...visit, person, chat }
    },
    /** The newest entries of the person's ledger. */
    ledger: async (person: TestPerson) =>
      (await send(app, 'GET', '/console/ledger', { cookie: person.cookie })).body.data,
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
