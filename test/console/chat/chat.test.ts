import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { formatMoney, parseMoney } from '../../../server/platform/money.ts'
import { chunk } from '../../support/upstream/chat-upstream.ts'
import { findBarriers } from '../browser/browser.ts'
import { type ChatConsole, startChatConsole } from './chat-console.ts'

let stage: ChatConsole
before(async () => {
  stage = await startChatConsole()
})
after(() => stage?.close())

const ROLE = chunk({ role: 'assistant', content: '' })

test('an answer streams in; stopping it keeps the text so far, stops the model and shows the cost', async () => {
  const { page, chat, person, close, screenshot } = await stage.visit({ model: 'Scripted' })
  const frames = [ROLE, chunk({ content: 'Once upon' }), chunk({ content: ' a time' })]
  stage.upstream.reply({ kind: 'stream', frames, done: false, finally: 'stall' })
  await chat.box.fill('Tell me a story.')
  await chat.box.press('Enter')
  await page.getByText('Once upon a time').waitFor()
  assert.equal(await chat.answers.getAttribute('aria-busy'), 'true')
  await screenshot('chat-streaming')
  await page.getByRole('button', { name: 'Stop' }).click()
  await stage.upstream.left()
  await page.locator('[data-cost]').waitFor()
  assert.equal(await chat.answers.getAttribute('data-status'), 'stopped')
  await page.getByText('Once upon a time').waitFor()
  const [entry] = await stage.ledger(person)
  assert.deepEqual(await chat.costs(), [entry.amount.replace('-', '')])
  assert.ok(entry.output_tokens > 0 && entry.amount !== '0.00000000')
  await screenshot('chat-stopped')
  await close()
})

test('every answer shows what the ledger charged for it, and the conversation their sum, to the last digit', async () => {
  const { page, chat, person, close } = await stage.visit()
  for (const text of ['Hello.', 'sandbox:echo one two three', 'sandbox:refuse', 'sandbox:empty', 'sandbox:filter'])
    await chat.send(text)
  const charged = (await stage.ledger(person)).filter(({ kind }: { kind: string }) => kind === 'charge')
  assert.equal(charged.length, 5)
  const amounts: string[] = charged.map(({ amount }: { amount: string }) => amount.replace('-', '')).reverse()
  assert.deepEqual(await chat.costs(), amounts)
  assert.equal(await chat.spent(), formatMoney(amounts.reduce((sum, amount) => sum + parseMoney(amount)!, 0n)))
  await page.getByText('The model declined to answer').waitFor()
  await page.getByText('The model returned an empty answer.').waitFor()
  await page.getByText('Stopped by the content filter').waitFor()
  await close()
})

test('a tool call is shown as a card, its result is entered, and the model continues', async () => {
  const { page, chat, person, close, screenshot } = await stage.visit()
  await page.getByRole('button', { name: 'Add tools' }).click()
  const editor = page.getByRole('dialog').getByRole('textbox')
  await editor.fill('[\n  {"type": "function",\n   "function": {"name": "get weather"}}\n]')
  await page.getByText('Line 3: names must be 1 to 64 letters').waitFor()
  await screenshot('chat-tools-mistake')
  await page.getByRole('button', { name: 'Apply', exact: true }).press('Enter')
  await editor.fill('')
  await page.getByRole('button', { name: 'Insert example' }).click()
  await page.getByRole('button', { name: 'Apply', exact: true }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  await chat.send('How warm is it in Paris?')
  const result = page.getByRole('textbox', { name: 'Result of get_weather' })
  await page.getByText('"city": "Paris"').waitFor()
  await page.getByText('The model is waiting for the tool result above.').waitFor()
  await chat.box.fill('And in Rome?')
  await chat.box.press('Enter')
  assert.equal(await chat.answers.count(), 1, 'nothing is sent while a call is open')
  await page.getByRole('button', { name: 'View code' }).click()
  const code = page.getByRole('dialog', { name: 'Request as code' })
  await code.getByText('The model is waiting for the tool result above.').waitFor()
  assert.equal(await code.getByRole('tab').count(), 0, 'no program that the service would refuse')
  await page.keyboard.press('Escape')
  await screenshot('chat-tool-call')
  await result.fill('{"celsius": 21}')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('[data-cost]').nth(1).waitFor()
  await page
    .getByText(/get_weather.*celsius/)
    .last()
    .waitFor()
  assert.equal((await chat.costs()).length, 2)
  assert.equal((await stage.ledger(person)).length, 3)
  await screenshot('chat-tool-result')

  await page.getByRole('button', { name: 'Change results' }).click()
  await result.waitFor()
  assert.equal(await chat.answers.count(), 1, 'taking a result back drops what was said since')
  await close()
})

test('messages are edited, answered again and deleted', async () => {
  const { page, chat, close } = await stage.visit()
  await chat.send('sandbox:echo first')
  await chat.send('sandbox:echo second')
  const mine = page.getByRole('article', { name: 'You' })
  await mine.first().hover()
  await mine.first().getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Message text' }).fill('sandbox:echo changed')
  await page.getByRole('button', { name: 'Save and regenerate' }).click()
  await page.getByRole('article', { name: 'Sandbox' }).getByText('changed').waitFor()
  await page.getByText('2 / 2').waitFor()
  assert.deepEqual([await mine.count(), await chat.answers.count()], [1, 1], 'what followed is in the other version')

  await chat.answers.getByRole('button', { name: 'Regenerate' }).click()
  await page.getByText('3 / 3').waitFor()
  assert.equal(await chat.answers.count(), 1)
  await chat.answers.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Message text' }).fill('Put into its mouth')
  await page.keyboard.press('Control+Enter')
  await page.getByText('Put into its mouth').waitFor()
  await page.getByText('Your changes go with the next message.').waitFor()
  await chat.answers.getByRole('button', { name: 'Delete' }).click()
  assert.equal(await chat.answers.count(), 0)
  await mine.getByRole('button', { name: 'Get an answer' }).click()
  await page.locator('[data-status=done] [data-cost]').waitFor()
  await close()
})

test('the focus goes back to the edit button of a message when editing ends', async () => {
  const { page, chat, close } = await stage.visit()
  await chat.send('sandbox:echo first')
  for (const name of ['You', 'Sandbox']) {
    const edit = page.getByRole('article', { name }).getByRole('button', { name: 'Edit' })
    for (const leave of ['Cancel', 'Save']) {
      await edit.press('Enter')
      const text = page.getByRole('textbox', { name: 'Message text' })
      await page.getByRole('button', { name: leave, exact: true }).press('Enter')
      await text.waitFor({ state: 'detached' })
      await edit.and(page.locator(':focus')).waitFor()
    }
  }
  await close()
})

test('Enter sends and Shift + Enter does not; nor does the Enter that ends a word of Japanese', async () => {
  const { page, chat, close } = await stage.visit({ language: 'ja' })
  await chat.box.click()
  const session = await page.context().newCDPSession(page)
  await session.send('Input.imeSetComposition', { text: 'とうだい', selectionStart: 4, selectionEnd: 4 })
  await chat.box.press('Enter')
  // Safari reports that key once the composition has ended, with its code alone.
  await chat.box.evaluate((box) =>
    box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true } as KeyboardEventInit)),
  )
  await session.send('Input.insertText', { text: '灯台' })
  await chat.box.press('Shift+Enter')
  await page.keyboard.type('2')
  assert.match(await chat.box.inputValue(), /灯台\n2/)
  assert.equal(await chat.answers.count(), 0)
  await chat.box.press('Enter')
  await page.locator('[data-cost]').waitFor()
  await page.getByRole('article', { name: 'あなた' }).getByText('灯台').waitFor()
  await close()
})

test('the page follows an answer as it grows until the reader scrolls up, and again when asked', async () => {
  const { page, chat, close } = await stage.visit({ height: 500 })
  const fromEnd = () =>
    page.evaluate(() => document.documentElement.scrollHeight - window.innerHeight - Math.round(window.scrollY))
  await chat.send('sandbox:long')
  assert.ok((await fromEnd()) <= 2)
  await page.mouse.move(400, 200)
  await page.mouse.wheel(0, -900)
  const jump = page.getByRole('button', { name: 'Scroll to the end' })
  await jump.waitFor()
  const before = await page.evaluate(() => window.scrollY)
  await page.evaluate(() => document.querySelector('[role=log]')!.append('x'.repeat(20)))
  assert.equal(await page.evaluate(() => window.scrollY), before)
  await jump.click()
  await page.waitForFunction(
    () => document.documentElement.scrollHeight - window.innerHeight - Math.round(window.scrollY) <= 2,
  )
  await jump.waitFor({ state: 'detached' })
  await close()
})

test('reasoning is collapsed; parameters are sent only when they are set', async () => {
  const { page, chat, close, screenshot } = await stage.visit()
  await page.getByRole('combobox', { name: 'Reasoning effort' }).selectOption('low')
  await page.getByRole('textbox', { name: 'Temperature' }).fill('3')
  await page.getByText('Fix this setting first: Temperature: Enter a value from 0 to 2.').waitFor()
  await page.getByRole('textbox', { name: 'Temperature' }).fill('0.5')
  await page.getByRole('textbox', { name: 'Max tokens' }).fill('200')
  const [request] = await Promise.all([page.waitForRequest('**/v1/responses'), chat.send('Think about it.')])
  const { input, metadata, ...sent } = request.postDataJSON()
  assert.deepEqual(input, [{ role: 'user', content: 'Think about it.' }])
  assert.match(metadata.conversation_id, /^conv_/)
  assert.deepEqual(sent, {
    model: 'sandbox-1',
    reasoning: { effort: 'low', summary: 'auto' },
    temperature: 0.5,
    max_output_tokens: 200,
    stream: true,
    background: true,
    store: true,
  })
  const reasoning = page.getByRole('button', { name: /Reasoning|Thought for/ })
  assert.equal(await reasoning.getAttribute('aria-expanded'), 'false')
  await reasoning.click()
  await page
    .getByText('First I look at what was actually asked.')
    .or(page.getByText('“Think about it.”'))
    .first()
    .waitFor()
  await screenshot('chat-reasoning')
  await close()
})

test('a test model says so, also where somebody named it otherwise, and other models do not', async () => {
  const { page, close } = await stage.visit({ model: 'Plain' })
  await page
    .getByRole('button', { name: /^Model: Plain/ })
    .getByText('Test model')
    .waitFor()
  await page.getByRole('button', { name: /^Model:/ }).click()
  await page
    .getByRole('menuitemradio', { name: /Sandbox/ })
    .getByText('Test model')
    .waitFor()
  assert.equal(
    await page
      .getByRole('menuitemradio', { name: /Scripted/ })
      .getByText('Test model')
      .count(),
    0,
  )
  await page.getByRole('menuitemradio', { name: /Scripted/ }).click()
  await page.getByRole('button', { name: /^Model: Scripted/ }).waitFor()
  assert.equal(
    await page
      .getByRole('button', { name: /^Model:/ })
      .getByText('Test model')
      .count(),
    0,
  )
  await close()
})

for (const [language, words] of [
  [
    'en',
    {
      open: 'Show settings',
      system: 'System prompt',
      sent: 'Sent with each message: system prompt “Speak like a pirate.”, Seed',
    },
  ],
  [
    'ja',
    {
      open: '設定を表示',
      system: 'システムプロンプト',
      sent: '毎回一緒に送信：システムプロンプト「Speak like a pirate.」、シード',
    },
  ],
] as const)
  test(`on a phone the page says which settings go with each message, and leads to them (${language})`, async () => {
    const { page, close, screenshot } = await stage.visit({ language, width: 390, height: 844 })
    const sent = page.getByRole('button', { name: words.sent })
    await page.getByRole('button', { name: words.open }).click()
    const settings = page.getByRole('dialog')
    await settings.getByLabel(words.system).fill('Speak like a pirate.')
    await settings.getByLabel(language === 'en' ? 'Seed' : 'シード').fill('7')
    await page.keyboard.press('Escape')
    await sent.waitFor()
    const tops = await page
      .locator('header:has(h1) div > button')
      .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top))
    assert.ok(Math.max(...tops) - Math.min(...tops) < 20, `the buttons are in one row: ${tops}`)
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`chat-sent-along-${language}`)
    await sent.click()
    await settings.getByLabel(words.system).fill('')
    await settings.getByLabel(language === 'en' ? 'Seed' : 'シード').fill('')
    await page.keyboard.press('Escape')
    await settings.waitFor({ state: 'detached' })
    assert.equal(await page.getByText(words.sent.slice(0, 8)).count(), 0)
    await close()
  })
