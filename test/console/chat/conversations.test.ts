import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import { textFrames } from '../../support/upstream/chat-upstream.ts'
import { findBarriers } from '../browser/browser.ts'
import { type ChatConsole, startChatConsole } from './chat-console.ts'

let stage: ChatConsole
before(async () => {
  stage = await startChatConsole()
})
after(() => stage?.close())

/** Says the first word and then nothing until `release()` of the chat server. */
const heldAfterFirst = (words: string[]) => ({ kind: 'stream', frames: textFrames(words), hold_after: 2 }) as const
const titlesOf = (page: Page) =>
  page
    .getByRole('list', { name: 'Conversations' })
    .getByRole('link')
    .evaluateAll((all) => all.map((each) => each.getAttribute('title')))
const choose = async (page: Page, title: string, action: string) => {
  await page.getByRole('button', { name: `Actions for ${title}` }).click()
  await page.getByRole('menuitem', { name: action, exact: true }).click()
}
const addressOf = (page: Page) => new URL(page.url()).pathname

test('a reload in the middle of an answer loses nothing: it goes on where it was, is charged once and can be stopped', async () => {
  const { page, chat, person, close } = await stage.visit({ model: 'Scripted' })
  stage.upstream.reply(heldAfterFirst(['A part', ' and the rest']))
  await chat.box.fill('Go on.')
  await chat.box.press('Enter')
  await page.locator('[data-status=streaming]').getByText('A part').waitFor()
  await page.getByRole('link', { name: 'Files' }).click()
  await page.waitForURL('**/files')
  await page.goBack()
  await page.locator('[data-status=streaming]').getByText('A part').waitFor()
  await page.reload()
  await page.locator('[data-status=streaming]').getByText('A part').waitFor()
  await chat.box.fill('Meanwhile')
  stage.upstream.release()
  await page.locator('[data-status=done]').getByText('A part and the rest').waitFor()
  await page.locator('[data-cost]').waitFor()
  const charges = (await stage.ledger(person)).filter(({ kind }: { kind: string }) => kind === 'charge')
  assert.deepEqual(await chat.costs(), [charges[0].amount.replace('-', '')])
  assert.equal(charges.length, 1)
  await page.reload()
  await page.getByText('A part and the rest').waitFor()
  assert.equal(await chat.box.inputValue(), 'Meanwhile')

  stage.upstream.reply(heldAfterFirst(['Another', ' one']))
  await chat.box.press('Enter')
  await page.locator('[data-status=streaming]').getByText('Another').waitFor()
  await page.reload()
  await page.locator('[data-status=streaming]').getByText('Another').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.locator('[data-status=stopped]').getByText('Another').waitFor()
  await close()
})

test('an answer that is lost on the way is read on where it was', async () => {
  const { page, chat, close, allow } = await stage.visit({ model: 'Scripted' })
  allow(/ERR_INCOMPLETE_CHUNKED_ENCODING/)
  stage.upstream.reply(heldAfterFirst(['First', ' and last']))
  await chat.box.fill('Go on.')
  await chat.box.press('Enter')
  await page.locator('[data-status=streaming]').getByText('First').waitFor()
  // The stream ends without its last event, as when a proxy between restarts.
  stage.app.app.http.server.closeAllConnections()
  await page.waitForRequest(/starting_after=\d+$/)
  stage.upstream.release()
  await page.locator('[data-status=done]').getByText('First and last').waitFor()
  await close()
})

test('versions of an answer are kept, and the conversation goes on from the one that is shown', async () => {
  const { page, chat, close, screenshot } = await stage.visit()
  await chat.send('sandbox:echo one')
  await chat.send('sandbox:echo two')
  await page.getByRole('article', { name: 'You' }).first().hover()
  await page.getByRole('article', { name: 'You' }).first().getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Message text' }).fill('sandbox:echo other')
  await page.getByRole('button', { name: 'Save and regenerate' }).click()
  await page.getByText('2 / 2').waitFor()
  assert.equal(await chat.answers.count(), 1)
  await screenshot('chat-versions')
  await page.getByRole('button', { name: 'Previous version' }).click()
  await page.getByText('1 / 2').waitFor()
  assert.deepEqual(await chat.answers.locator('p').first().innerText(), 'one')
  assert.equal(await chat.answers.count(), 2, 'what followed this version is there again')
  const [request] = await Promise.all([page.waitForRequest('**/v1/responses'), chat.send('sandbox:echo three')])
  const { input, previous_response_id } = request.postDataJSON()
  assert.deepEqual(input, [{ role: 'user', content: 'sandbox:echo three' }], 'the history is not sent again')
  assert.match(previous_response_id, /^resp_/)
  await page.reload()
  await page.getByRole('article', { name: 'Sandbox' }).getByText('three').waitFor()
  await page.getByRole('button', { name: 'Next version' }).click()
  await page.getByText('2 / 2').waitFor()
  assert.equal(await chat.answers.count(), 1)
  await close()
})

test('an answer that was stopped or edited is sent as it is shown', async () => {
  const { page, chat, close } = await stage.visit()
  await chat.send('sandbox:echo first')
  await chat.answers.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Message text' }).fill('Put into its mouth')
  await page.keyboard.press('Control+Enter')
  await chat.box.fill('sandbox:echo second')
  const [request] = await Promise.all([page.waitForRequest('**/v1/responses'), chat.box.press('Enter')])
  assert.deepEqual(request.postDataJSON().input, [
    { role: 'user', content: 'sandbox:echo first' },
    { role: 'assistant', content: [{ type: 'output_text', text: 'Put into its mouth' }] },
    { role: 'user', content: 'sandbox:echo second' },
  ])
  await page.getByText('2 / 2').waitFor()
  await page.reload()
  await page.getByText('Put into its mouth').waitFor()
  await page.getByText('2 / 2').waitFor()
  await close()
})

test('a new conversation begins empty, keeps the settings and destroys nothing; the list leads back', async () => {
  const { page, chat, close } = await stage.visit()
  await page.getByRole('textbox', { name: 'System prompt' }).fill('Be brief.')
  await chat.send('sandbox:echo first talk')
  await page.waitForURL('**/chat/conv_*')
  const first = addressOf(page)
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.waitForURL('**/chat')
  assert.deepEqual([await chat.answers.count(), await chat.spent()], [0, '0.00000000'])
  assert.equal(await page.getByRole('textbox', { name: 'System prompt' }).inputValue(), 'Be brief.')
  await page.getByRole('button', { name: 'Compare MP4, WebM and MOV' }).click()
  assert.match(await chat.box.inputValue(), /^Compare MP4/)
  await chat.send('sandbox:echo second talk')
  assert.deepEqual(await titlesOf(page), ['sandbox:echo second talk', 'sandbox:echo first talk'])
  await page.getByRole('link', { name: /first talk/ }).click()
  await page.getByRole('article', { name: 'Sandbox' }).getByText('first talk').waitFor()
  assert.equal(addressOf(page), first)
  await page.getByRole('heading', { level: 1, name: 'sandbox:echo first talk' }).and(page.locator(':focus')).waitFor()
  await close()
})

for (const [language, words] of [
  ['en', { fresh: 'New conversation' }],
  ['ja', { fresh: '新しい会話' }],
] as const)
  test(`the message box has the focus in a new conversation, and titles have no marks of Markdown (${language})`, async () => {
    const { page, chat, close } = await stage.visit({ language })
    const hasFocus = () => chat.box.and(page.locator(':focus')).waitFor()
    await hasFocus()
    await page.keyboard.type('sandbox:echo **Write** a `hello.ts`')
    await page.keyboard.press('Enter')
    const title = 'sandbox:echo Write a hello.ts'
    await page.getByRole('link', { name: title }).waitFor()
    await page.locator('[data-cost]').waitFor()
    assert.ok((await page.title()).startsWith(title))
    await page.getByRole('button', { name: words.fresh }).click()
    await page.getByRole('heading', { name: title, level: 1 }).waitFor({ state: 'detached' })
    await hasFocus()
    assert.deepEqual(await findBarriers(page), [])
    await close()
  })

test('where the keyboard is on the screen it is not opened by itself', async () => {
  const { page, context, chat, close } = await stage.visit({ path: '/files' })
  const session = await context.newCDPSession(page)
  await session.send('Emulation.setTouchEmulationEnabled', { enabled: true })
  await page.getByRole('link', { name: 'Chat' }).click()
  await chat.box.waitFor()
  await page.locator('h1:focus').waitFor()
  await session.detach()
  await close()
})

test('conversations are found, renamed, pinned and deleted; a deletion can be undone', async () => {
  const { page, chat, close, screenshot } = await stage.visit()
  for (const word of ['alpha', 'beta']) {
    await chat.send(`sandbox:echo ${word}`)
    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.waitForURL('**/chat')
  }
  await choose(page, 'sandbox:echo alpha', 'Rename')
  await page.getByRole('textbox', { name: 'Title' }).fill('Letters')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await choose(page, 'Letters', 'Pin')
  await page.getByRole('img', { name: 'Pinned' }).waitFor()
  assert.deepEqual(await titlesOf(page), ['Letters', 'sandbox:echo beta'])
  await screenshot('chat-list')
  const search = page.getByRole('searchbox', { name: 'Search conversations' })
  await search.fill('ALPHA')
  await page.getByRole('link', { name: /beta/ }).waitFor({ state: 'detached' })
  assert.deepEqual(await titlesOf(page), ['Letters'], 'by what was asked in it')
  await search.fill('nowhere')
  await page.getByText('No conversation contains this text.').waitFor()
  await search.fill('')
  await page.getByRole('link', { name: /beta/ }).click()
  await page.waitForURL('**/chat/conv_*')
  await choose(page, 'sandbox:echo beta', 'Delete')
  await page.waitForURL('**/chat')
  assert.deepEqual(await titlesOf(page), ['Letters'])
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('link', { name: /beta/ }).waitFor()
  await choose(page, 'sandbox:echo beta', 'Delete')
  const isDeletion = (request: Request) => request.method() === 'DELETE'
  // As when the page is left before the ten seconds are over.
  const [sent] = await Promise.all([
    page.waitForRequest(isDeletion),
    page.evaluate(() => window.dispatchEvent(new Event('pagehide'))),
  ])
  assert.equal((await sent.response())!.status(), 200)
  await page.reload()
  await page.getByRole('link', { name: /Letters/ }).waitFor()
  assert.deepEqual(await titlesOf(page), ['Letters'])
  await close()
})

test('two tabs agree: each shows what the other has said, renamed and set, once it has the focus', async () => {
  const one = await stage.visit()
  await one.chat.send('sandbox:echo from one')
  const path = addressOf(one.page)
  const two = await one.context.newPage()
  await two.goto(stage.app.url + path)
  await two.getByRole('article', { name: 'Sandbox' }).getByText('from one').waitFor()
  await two.getByRole('textbox', { name: 'Your message' }).fill('sandbox:echo from two')
  await two.getByRole('textbox', { name: 'Your message' }).press('Enter')
  await two.locator('[data-cost]').nth(1).waitFor()
  const focus = () => one.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
  await focus()
  await one.page.getByRole('article', { name: 'Sandbox' }).getByText('from two').waitFor()
  await one.chat.send('sandbox:echo and one again')
  assert.equal(await one.chat.answers.count(), 3)
  assert.equal(await one.page.getByText('2 / 2').count(), 0, 'it continues what the other tab said')
  await two.close()
  await one.close()
})

test('what somebody wrote is nobody else’s to see, and does not stay in the browser', async () => {
  const { page, chat, close, allow, person } = await stage.visit()
  await chat.send('sandbox:echo remember me')
  await chat.box.fill('A draft')
  const path = addressOf(page)
  const outsider = await stage.visit()
  outsider.allow(/status of 404/)
  await outsider.page.goto(stage.app.url + path)
  await outsider.page.getByText('This conversation was deleted, or it belongs to somebody else.').waitFor()
  await outsider.close()
  await page.reload()
  await page.getByRole('article', { name: 'Sandbox' }).getByText('remember me').waitFor()
  const kept = () => page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('kinora.kept.')))
  for (const key of await kept()) assert.ok(key.includes(person.user_id) || key.endsWith('.signed-in'), key)
  allow(/status of 401/)
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL('**/sign-in')
  assert.deepEqual(await kept(), [])
  await close()
})

for (const look of [
  { width: 390, height: 740, theme: 'dark', language: 'ja' },
  { width: 1280, height: 800, theme: 'dark', language: 'en' },
] as const)
  test(`the list has no barrier and nothing scrolls sideways: ${look.width}-${look.language}`, async () => {
    const { page, chat, close, screenshot } = await stage.visit(look)
    await chat.send(`sandbox:echo ${'灯台と船'.repeat(40)}`)
    await chat.answers.getByRole('button', { name: look.language === 'ja' ? '回答を再生成' : 'Regenerate' }).click()
    await page.getByText('2 / 2').waitFor()
    if (look.width < 1280) {
      await page.getByRole('button', { name: '会話一覧を表示' }).click()
      await page.getByRole('dialog', { name: '会話一覧' }).waitFor()
    }
    await page.getByRole('searchbox').waitFor()
    const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth])
    assert.ok(scroll! <= inner!, `${scroll} in ${inner}`)
    assert.deepEqual(await findBarriers(page), [])
    await screenshot(`chat-list-${look.width}-${look.theme}-${look.language}`)
    if (look.width < 1280) {
      await page.getByRole('dialog').getByRole('link').click()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await close()
  })
