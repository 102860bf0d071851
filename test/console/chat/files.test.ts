import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { newCustomer } from '../../support/http/app.ts'
import { chunk } from '../../support/upstream/chat-upstream.ts'
import { firstUnlessCheck } from '../../tiers.ts'
import { findBarriers } from '../browser/browser.ts'
import { type ChatConsole, startChatConsole } from './chat-console.ts'

let stage: ChatConsole
before(async () => {
  stage = await startChatConsole()
})
after(() => stage?.close())

const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: 'teal' } })
    .png()
    .toBuffer()
/** Noise does not compress: larger than what goes along by its bytes. */
const largePicture = () =>
  sharp(randomBytes(200 * 200 * 3), { raw: { width: 200, height: 200, channels: 3 } })
    .png()
    .toBuffer()

/** Drops or pastes a file as the system would. */
async function give(
  page: Page,
  how: 'drop' | 'paste',
  file: { name: string; type: string; bytes: Buffer },
): Promise<void> {
  await page.getByPlaceholder('Write a message').waitFor()
  const data = { ...file, bytes: file.bytes.toString('base64') }
  await page.evaluate(
    ({ how, name, type, bytes }) => {
      const transfer = new DataTransfer()
      transfer.items.add(new File([Uint8Array.from(atob(bytes), (each) => each.charCodeAt(0))], name, { type }))
      const target = how === 'drop' ? window : document.querySelector('textarea[placeholder="Write a message"]')!
      const event =
        how === 'drop'
          ? new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true })
          : new ClipboardEvent('paste', { clipboardData: transfer, bubbles: true, cancelable: true })
      target.dispatchEvent(event)
    },
    { how, ...data },
  )
}

test('a small image is sent inline, a large one is uploaded once; the model sees both', async () => {
  const { page, chat, close, screenshot } = await stage.visit()
  await give(page, 'paste', { name: 'small.png', type: 'image/png', bytes: await picture(64, 48) })
  await page.getByRole('img', { name: 'small.png' }).waitFor()
  await give(page, 'drop', { name: 'large.png', type: 'image/png', bytes: await largePicture() })
  await page.getByRole('img', { name: 'large.png' }).waitFor()
  await screenshot('chat-attached')
  const [request] = await Promise.all([page.waitForRequest('**/v1/responses'), chat.send('What do you see?')])
  const [small, large, text] = request.postDataJSON().input[0].content
  assert.match(small.image_url, /^data:image\/png;base64,/)
  assert.match(large.file_id, /^file-/)
  assert.deepEqual(text, { type: 'input_text', text: 'What do you see?' })
  await page.getByText(/2 images \(PNG, 64×48/).waitFor()
  await page.reload()
  await page.waitForFunction(
    () => [...document.images].length === 2 && [...document.images].every((each) => each.naturalWidth > 0),
  )
  await screenshot('chat-pictures')
  await close()
})

test('files that the model does not support are refused with a reason before anything is sent', async () => {
  const { page, chat, close, screenshot } = await stage.visit({ model: 'Plain' })
  const asked: string[] = []
  page.on('request', (request) => request.method() === 'POST' && asked.push(request.url()))
  await give(page, 'paste', { name: 'a.png', type: 'image/png', bytes: await picture(8, 8) })
  await page.getByText('Plain does not support images, so a.png was not attached.').first().waitFor()
  await chat.choose('Sandbox')
  await give(page, 'paste', { name: 'b.png', type: 'image/png', bytes: await picture(8, 8) })
  await page.getByRole('img', { name: 'b.png' }).waitFor()
  await chat.choose('Plain')
  await page.getByText('Plain does not support images. Remove b.png or choose another model.').waitFor()
  await screenshot('chat-refused')
  await chat.box.fill('Look')
  await chat.box.press('Enter')
  assert.equal(await chat.answers.count(), 0)
  await page.getByRole('button', { name: 'Remove b.png' }).click()
  assert.deepEqual(asked, [])
  await chat.send('Look')
  await give(page, 'paste', { name: 'a.heic', type: 'image/heic', bytes: Buffer.from('x') })
  await page.getByText('a.heic: images must be PNG, JPEG, WebP or GIF.').first().waitFor()
  await close()
})

test('an empty balance is explained, and the same message can be sent again once there is credit', async () => {
  const person = await newCustomer(stage.app, { balance: 0n })
  const { page, chat, close, allow, screenshot } = await stage.visit({ person })
  allow(/status of 402/)
  await chat.box.fill('Hello?')
  await chat.box.press('Enter')
  await page.getByText('Your balance is used up').waitFor()
  assert.equal(await page.getByRole('link', { name: 'View balance' }).getAttribute('href'), '/billing')
  await screenshot('chat-no-credit')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.locator('[data-status=failed]').waitFor()
  assert.equal(await chat.answers.count(), 1)
  await close()
})

test('an answer that is cut off keeps its text and cost, and can be retried', async () => {
  const { page, chat, person, close, screenshot } = await stage.visit({ model: 'Scripted' })
  const frames = [chunk({ role: 'assistant', content: '' }), chunk({ content: 'Half of' })]
  stage.upstream.reply({ kind: 'stream', frames, done: false, finally: 'reset' })
  await chat.send('Go on')
  await page.getByText('The model server returned an error. Try again.').waitFor()
  await page.getByText('Half of').waitFor()
  const [entry] = await stage.ledger(person)
  assert.deepEqual(await chat.costs(), [entry.amount.replace('-', '')])
  await screenshot('chat-failed')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('Hello there.').waitFor()
  await page.locator('[data-status=done] [data-cost]').waitFor()
  assert.equal(await chat.answers.count(), 1)
  const charges = (await stage.ledger(person)).filter(({ kind }: { kind: string }) => kind === 'charge')
  assert.equal(charges.length, 2)
  await close()
})

const TEXT = [
  'sandbox:echo # A title',
  'Words with `code` and a [link](https://example.com).',
  '| a | b |\n|---|--:|\n| long cell with some words in it | 12 |',
  '```sh\ncurl -N "$KINORA_BASE_URL/v1/chat/completions" -H "Authorization: Bearer $KINORA_API_KEY" -d @request.json\n```',
  '1. one\n2. two\n   - three',
  'https://example.com/' + 'a'.repeat(120),
].join('\n\n')

const LOOKS = [
  { width: 1280, height: 800, theme: 'light', language: 'en' },
  { width: 360, height: 740, theme: 'dark', language: 'ja' },
  { width: 2560, height: 1300, theme: 'light', language: 'en' },
] as const
for (const look of firstUnlessCheck(LOOKS)) {
  const name = `${look.width}-${look.theme}-${look.language}`
  test(`nothing scrolls sideways and axe finds no barrier: ${name}`, async () => {
    const { page, chat, close, screenshot } = await stage.visit(look)
    const ja = look.language === 'ja'
    const checks = async (state: string) => {
      const [scroll, inner] = await page.evaluate(
        () => [document.documentElement.scrollWidth, window.innerWidth] as const,
      )
      assert.ok(scroll <= inner, `${state}: ${scroll} in ${inner}`)
      if (look.width < 2560) assert.deepEqual(await findBarriers(page), [], state)
      await screenshot(`chat-${name}-${state}`)
    }
    await checks('empty')
    await chat.send(TEXT)
    await chat.send(ja ? '灯台について教えてください。' : 'Tell me about lighthouses.')
    await checks('talk')
    await page.getByRole('button', { name: ja ? 'コードを表示' : 'View code' }).click()
    await page.getByRole('dialog').waitFor()
    await checks('code')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: ja ? /^モデル：/ : /^Model:/ }).click()
    await page.getByRole('menu').waitFor()
    await checks('models')
    await page.keyboard.press('Escape')
    if (look.width < 1280) {
      await page.getByRole('button', { name: ja ? '設定を表示' : 'Show settings' }).click()
      await page.getByRole('dialog').waitFor()
      await checks('settings')
    }
    await close()
  })
}
