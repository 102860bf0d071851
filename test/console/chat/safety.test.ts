import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { chunk, textFrames } from '../../support/upstream/chat-upstream.ts'
import { type ChatConsole, startChatConsole } from './chat-console.ts'

/** What runs, loads or leads elsewhere where text is taken for markup. */
const CORPUS = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg onload=alert(1)><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
  '"><iframe srcdoc="<script>alert(1)</script>"></iframe>',
  "'-alert(1)-'",
  '[click](javascript:alert(1))',
  '[click](  JaVaScRiPt:alert(1) "t")',
  '[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '[click](<javascript:alert(1)>)',
  '[click](\u0001javascript:alert(1))',
  '<javascript:alert(1)>',
  '![picture](https://elsewhere.example/pixel.png)',
  '![picture](javascript:alert(1))',
  '[![nested](https://elsewhere.example/a.png)](javascript:alert(1))',
  '| <b onmouseover=alert(1)>a</b> | b |\n|---|---|\n| <script>alert(1)</script> | [x](javascript:alert(1)) |',
  '```html"><script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```',
  '# <style>*{background:url(https://elsewhere.example/)}</style>',
  '> <meta http-equiv=refresh content="0;url=javascript:alert(1)">',
  '{{constructor.constructor("alert(1)")()}} <%= alert(1) %> $t(title) {{name}}',
  '<a href="https://x.example" onclick="alert(1)">x</a> <form action=javascript:alert(1)><button>x',
].join('\n\n')

let stage: ChatConsole
before(async () => {
  stage = await startChatConsole()
})
after(() => stage?.close())

/** Nothing but text and links to the web came of it. */
async function staysHarmless(page: Page): Promise<void> {
  const found = await page.evaluate(() => {
    const main = document.querySelector('main')!
    const foreign = main.querySelectorAll('script, iframe, form, style, meta, object, embed, base, [srcdoc]')
    const handlers = [...main.querySelectorAll('*')].flatMap((each) =>
      each.getAttributeNames().filter((name) => name.startsWith('on')),
    )
    const links = [...main.querySelectorAll('a')]
      .filter(({ pathname }) => !pathname.startsWith('/chat/conv_'))
      .map(({ protocol, rel }) => `${protocol} ${rel}`)
    const pictures = [...main.querySelectorAll('img')].map(({ src }) => src)
    return { foreign: foreign.length, handlers, links: [...new Set(links)], pictures }
  })
  assert.deepEqual(found.pictures, [])
  assert.deepEqual([found.foreign, found.handlers], [0, []])
  for (const link of found.links) assert.match(link, /^https?: (noopener )?noreferrer$/)
}

test('what a person, a model, a tool or a setting says is text: nothing runs, loads or leads to a script', async () => {
  const { page, chat, close } = await stage.visit()
  page.on('dialog', () => assert.fail('a dialog opened'))
  await page.getByRole('textbox', { name: 'System prompt' }).fill(CORPUS)
  await chat.send(`sandbox:echo ${CORPUS}`)
  await page.getByRole('article', { name: 'Sandbox' }).getByText('alert(1)').first().waitFor()
  await staysHarmless(page)
  await page.getByRole('button', { name: 'View code' }).click()
  for (const name of ['curl', 'Node', 'Python']) {
    await page.getByRole('tab', { name }).click()
    await page.getByRole('region', { name }).waitFor()
  }
  await staysHarmless(page)
  await page.keyboard.press('Escape')
  // Kept, and restored from there.
  await page.reload()
  await page.getByRole('article', { name: 'Sandbox' }).getByText('alert(1)').first().waitFor()
  await staysHarmless(page)
  await close()
})

test('calls of tools, reasoning and refusals of a hostile model are text as well', async () => {
  const { page, chat, close } = await stage.visit({ model: 'Scripted' })
  page.on('dialog', () => assert.fail('a dialog opened'))
  await page.getByRole('button', { name: 'Add tools' }).click()
  const editor = page.getByRole('dialog').getByRole('textbox')
  await editor.fill(CORPUS)
  await page.getByText(/^Line 1:/).waitFor()
  const tool = { type: 'function', function: { name: 'a', description: CORPUS, parameters: { title: CORPUS } } }
  await editor.fill(JSON.stringify([tool]))
  await page.getByRole('button', { name: 'Apply', exact: true }).click()
  const call = { id: CORPUS.slice(0, 200), type: 'function', function: { name: '<img src=x>', arguments: CORPUS } }
  const frames = [
    chunk({ role: 'assistant', content: null }),
    chunk({ reasoning_content: CORPUS }),
    chunk({ refusal: CORPUS }),
    chunk({ tool_calls: [{ index: 0, ...call }] }),
    chunk({}, { finish_reason: 'tool_calls' }),
  ]
  stage.upstream.reply({ kind: 'stream', frames })
  await chat.send('Hi')
  await page.getByRole('button', { name: 'Reasoning' }).click()
  await page.getByRole('textbox', { name: 'Result of <img src=x>' }).fill(CORPUS)
  await staysHarmless(page)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('[data-cost]').nth(1).waitFor()
  await staysHarmless(page)
  await close()
})

test('files with hostile names are named, not run', async () => {
  const { page, chat, close } = await stage.visit()
  page.on('dialog', () => assert.fail('a dialog opened'))
  const name = '"><img src=x onerror=alert(1)>.txt'
  const input = page.locator('input[type=file]')
  await input.setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from('<script>alert(1)</script>') })
  await page.getByRole('button', { name: `Remove ${name}` }).waitFor()
  await page.getByRole('progressbar').waitFor({ state: 'detached' })
  await staysHarmless(page)
  await chat.send('Read it.')
  await staysHarmless(page)
  await close()
})

test('an answer is formatted from the first moment, and shown as written when what formats it does not load', async () => {
  const { page, chat, person, close, allow } = await stage.visit({ model: 'Scripted', cold: true })
  allow(/ERR_FAILED/)
  await page.route('**/assets/markdown-*.js', (route) => route.abort())
  stage.upstream.reply({ kind: 'stream', frames: textFrames(['Some **bold** words']) })
  await chat.send('Go on.')
  await page.getByText('Some **bold** words').waitFor()
  const path = new URL(page.url()).pathname
  await close()

  const again = await stage.visit({ person, path: '/settings', cold: true })
  let release: () => void = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  await again.page.route('**/assets/markdown-*.js', (route) => held.then(() => route.continue()))
  const asked = again.page.waitForRequest('**/assets/markdown-*.js')
  await again.page.getByRole('link', { name: 'Chat', exact: true }).click()
  await again.page.getByRole('list', { name: 'Conversations' }).getByRole('link').click()
  await asked
  assert.equal(await again.page.getByText('**bold**').count(), 0)
  release()
  await again.page.waitForURL(`**${path}`)
  await again.page.locator('strong', { hasText: 'bold' }).waitFor()
  assert.equal(await again.page.getByText('**bold**').count(), 0)
  await again.close()
})
