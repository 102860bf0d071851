import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'
import { prompt } from './video-studio.ts'

const CONFIG = `
video_models:
  - { id: instant-1, name: Quick, engine: instant, per_second: "0.010000", prompt_help: Be vivid. }
  - { id: instant-2, name: Slow, engine: instant, per_second: "0.010000" }
chat_models:
  - { id: helper-1, name: Helper, engine: sandbox, price_per_million: { input: "100", output: "400" } }
prompt_help: { model: helper-1 }
`

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
})
after(() => app?.close())

const improve = (page: Page) => page.getByRole('button', { name: 'Improve' })
const proposal = (page: Page) => page.getByRole('textbox', { name: 'Proposed prompt, which you can edit' })
/** What a proposal costs at most. */
const bound = (page: Page) => page.getByText(/^At most \$/)
/** Has the chat model answer this. */
const answer = (page: Page, content: string) =>
  page.route('**/v1/chat/completions', async (route) => {
    const response = await route.fetch()
    const body = await response.json()
    body.choices[0].message.content = content
    await route.fulfill({ response, json: body })
  })

test('a proposal is shown with what the ledger charged for it, and used only when it is accepted', async () => {
  const own = await newCustomer(app)
  const { page, close, screenshot } = await openConsole(browser, { app, as: own, path: '/videos' })
  const asked = page.waitForRequest('**/v1/chat/completions')
  await prompt(page).fill('sandbox:echo A tabby cat in the rain. <d>Meow</d>')
  const most = Number(/^At most \$([\d.]+)$/.exec(await bound(page).innerText())![1])
  await improve(page).click()
  const { messages, max_completion_tokens } = (await asked).postDataJSON()
  assert.match(messages[0].content, /^Be vivid\.\nWrite the new prompt in English/)
  assert.ok(most >= (max_completion_tokens * 400) / 1e6, `${most} for ${max_completion_tokens} tokens`)
  assert.equal(await proposal(page).inputValue(), 'A tabby cat in the rain. <d>Meow</d>')
  const { data } = (await send(app, 'GET', '/console/ledger', { cookie: own.cookie })).body
  const charged = data.find(({ kind }: { kind: string }) => kind === 'charge').amount
  const shown = await page.getByText(/This proposal cost/).innerText()
  assert.equal(Number(/\$([\d.]+\d)/.exec(shown)![1]), -Number(charged))
  assert.ok(most >= -Number(charged))
  await screenshot('videos-improve')
  assert.deepEqual(await findBarriers(page), [])
  await page.getByRole('button', { name: 'Dismiss' }).click()
  assert.equal(await prompt(page).inputValue(), 'sandbox:echo A tabby cat in the rain. <d>Meow</d>')
  await improve(page).click()
  await proposal(page).fill('A tabby cat in heavy rain. <d>Meow</d>')
  await page.getByRole('button', { name: 'Use it' }).click()
  assert.equal(await prompt(page).inputValue(), 'A tabby cat in heavy rain. <d>Meow</d>')
  await prompt(page).press('Control+z')
  assert.equal(await prompt(page).inputValue(), 'sandbox:echo A tabby cat in the rain. <d>Meow</d>')
  await close()
})

for (const [language, words] of [
  ['en', { improve: 'Improve', use: 'Use it', restore: 'Restore my text', bound: /^In English, at most \$/ }],
  ['ja', { improve: '改善', use: '採用', restore: '元の文章に戻す', bound: /^英語で提案します。料金は最大 \$/ }],
] as const)
  test(`where nothing translates, a Japanese text gets a proposal in English, and can be put back without a keyboard (${language})`, async () => {
    const look = { language, width: 390, height: 844 } as const
    const { page, close, screenshot } = await openConsole(browser, {
      app,
      as: await newCustomer(app),
      path: '/videos',
      ...look,
    })
    const area = page.locator('textarea[name=prompt]')
    await answer(page, 'A cat in the rain. <d>にゃあ</d>')
    await area.fill('雨の中の猫。<d>にゃあ</d>')
    await page.getByText(words.bound).waitFor()
    await page.getByRole('button', { name: words.improve, exact: true }).click()
    await page.getByRole('button', { name: words.use }).click()
    assert.equal(await area.inputValue(), 'A cat in the rain. <d>にゃあ</d>')
    const restore = page.getByRole('button', { name: words.restore })
    await restore.waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`improve-restore-${language}`)
    await restore.click()
    assert.equal(await area.inputValue(), '雨の中の猫。<d>にゃあ</d>')
    await restore.waitFor({ state: 'detached' })
    await close()
  })

test('dialogue that the answer changed is put back, and an answer without it is not offered', async () => {
  const { page, close } = await openConsole(browser, { app, as: await newCustomer(app), path: '/videos' })
  await prompt(page).fill('A cat. <d>Ｍｅｏｗ  you</d>')
  await answer(page, 'A tabby cat turns around. <d>Meow you!</d>')
  await improve(page).click()
  assert.equal(await proposal(page).inputValue(), 'A tabby cat turns around. <d>Ｍｅｏｗ  you</d>')
  await page.unroute('**/v1/chat/completions')
  await answer(page, 'A tabby cat says meow.')
  await improve(page).click()
  await page.getByText('The model changed the dialogue or did not return a prompt').waitFor()
  assert.equal(await proposal(page).count(), 0)
  await page.unroute('**/v1/chat/completions')
  await prompt(page).fill('A cat. <d>Meow')
  assert.equal(await improve(page).getAttribute('aria-disabled'), 'true')
  await close()
})

test('a refusal says why, and without a chat model there is no button', async () => {
  const poor = await newCustomer(app, { balance: 0n })
  const { page, close, allow } = await openConsole(browser, { app, as: poor, path: '/videos' })
  allow(/status of 402/)
  await prompt(page).fill('A cat.')
  await improve(page).click()
  await page.getByText('No proposal. Your balance does not cover this.').waitFor()
  await close()
  const plain = await startApp()
  const other = await openConsole(browser, { app: plain, as: await newCustomer(plain), path: '/billing' })
  const read = ['**/console/site', '**/v1/videos/models'].map((url) => other.page.waitForResponse(url))
  await other.page.goto(`${plain.url}/videos`)
  for (const each of read) await (await each).finished()
  await prompt(other.page).fill('A cat.')
  assert.equal(await improve(other.page).count(), 0)
  await other.close()
  await plain.close()
})

test('a proposal stays with its edits while the model and the prompt change, and says that the prompt has', async () => {
  const { page, close } = await openConsole(browser, { app, as: await newCustomer(app), path: '/videos' })
  const changed = page.getByText('The prompt has changed since you asked.')
  await prompt(page).fill('sandbox:echo A tabby cat.')
  await improve(page).click()
  await proposal(page).fill('A tabby cat in heavy rain.')
  const choose = async (name: RegExp) => {
    await page.getByRole('button', { name: /Quick|Slow/ }).click()
    await page.getByRole('menuitemradio', { name }).click()
  }
  const read = page.waitForResponse('**/console/prompt_help?model=instant-2')
  await choose(/Slow/)
  await (await read).finished()
  assert.equal(await proposal(page).count(), 1)
  assert.equal(await proposal(page).inputValue(), 'A tabby cat in heavy rain.')
  assert.equal(await changed.count(), 0)
  await page.locator('textarea[name=prompt]').fill('sandbox:echo A dog.')
  await changed.waitFor()
  await close()
})
