import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { textFrames } from '../../support/upstream/chat-upstream.ts'
import { type ChatConsole, startChatConsole } from './chat-console.ts'

let stage: ChatConsole
before(async () => {
  stage = await startChatConsole()
})
after(() => stage?.close())

test('a question whose connection is lost before its answer begins is asked once, and its answer shown', async () => {
  const { page, chat, close, allow } = await stage.visit({ model: 'Scripted' })
  allow(/ERR_CONNECTION_RESET/)
  await page.route(
    '**/v1/responses',
    async (route) => {
      await route.fetch()
      await route.abort('connectionreset')
    },
    { times: 1 },
  )
  stage.upstream.reply({ kind: 'stream', frames: textFrames(['Made once.']) })
  await chat.send('Go on.')
  await page.getByText('Made once.').waitFor()
  assert.equal(await chat.answers.count(), 1)
  assert.equal(stage.upstream.requests.length, 1)
  await close()
})

test('a question that did not arrive is shown as not sent', async () => {
  const { page, chat, close, allow } = await stage.visit({ model: 'Scripted' })
  allow(/ERR_CONNECTION_RESET/)
  await page.route('**/v1/responses', (route) => route.abort('connectionreset'), { times: 1 })
  await chat.box.fill('Go on.')
  await chat.box.press('Enter')
  await page.locator('article[data-status=failed]').waitFor()
  await close()
})
