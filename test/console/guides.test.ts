import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import type { SnippetLanguage } from '../../console/api/snippets.ts'
import { CLIENTS, clientProgram } from '../../console/guides/clients.ts'
import { guideProgram, type Target, type Topic } from '../../console/guides/programs.ts'
import { probeFile } from '../../server/media/probe/probe.ts'
import { ended } from '../support/command.ts'
import { samplePicture } from '../support/data/media.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { ROOT } from '../support/sources.ts'
import { firstUnlessCheck } from '../tiers.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

const CONFIG = `
video_models:
  - { id: instant/clip-1, engine: instant, per_second: "0.010000" }
chat_models:
  - { id: plain, engine: sandbox, price_per_million: { input: "1", output: "2" } }
  - { id: "org/seeing:1", engine: sandbox, capabilities: [vision], price_per_million: { input: "1", output: "2" } }
`

let app: TestApp
let browser: Browser
let person: TestPerson
let target: Target
let dir: string
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG, background: true })
  person = await newCustomer(app)
  const models = { chat_model: 'plain', vision_model: 'org/seeing:1', video_model: 'instant/clip-1' }
  target = { base_url: app.url, ...models }
  dir = mkdtempSync(join(tmpdir(), 'kinora-guides-'))
  writeFileSync(join(dir, 'photo.png'), await samplePicture('png'))
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
})
after(async () => {
  await app?.close()
  rmSync(dir, { recursive: true, force: true })
})

/** What each program prints, or leaves behind. */
const TOPICS: ReadonlyArray<[Topic, RegExp]> = [
  ['chat', /Paris/],
  ['stream', /Paris/],
  ['response', /Paris[\s\S]*Rome[\s\S]*turn 2/],
  ['files', /1 image/],
  ['video', /video_/],
]

for (const [topic, printed] of TOPICS) {
  test(`the curl program of the guide "${topic}" does what it says`, async () => {
    await works(topic, printed, () => run('sh', ['-c', guideProgram(topic, 'curl', target)]))
  })

  test(`the Node program of the guide "${topic}" does what it says`, async () => {
    await works(topic, printed, () => runNode(guideProgram(topic, 'node', target)))
  })
}

test('the Python programs of the guides are Python', {
  skip: spawnSync('python3', ['--version']).status !== 0 && 'no python3 here: install it',
}, async () => {
  const programs = TOPICS.map(([topic]) => guideProgram(topic, 'python', target))
  await run('python3', ['-c', 'import ast, sys; [ast.parse(each) for each in sys.argv[1:]]', ...programs])
})

for (const client of ['ai-sdk', 'langchain', 'agents'] as const) {
  test(`the program for ${client} gets its answer`, async () => {
    assert.match(await runNode(clientProgram(client, target)), /Paris/)
  })
}

test('the environment variables for the OpenAI SDK are enough for a program without settings of its own', async () => {
  const program =
    "new (require('openai'))().chat.completions.create({ model: 'plain', messages: [{ role: 'user', content: 'Paris' }] }).then((a) => console.log(a.choices[0].message.content))"
  const script = `${clientProgram('openai', target)}\nexec "$NODE" -e "$PROGRAM"`
  assert.match(await run('sh', ['-c', script], { NODE: process.execPath, PROGRAM: program }), /Paris/)
})

test('every block of the page is a program for this service and the models of the plan, in each language', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/guides' })
  await page.getByText('"model": "plain"').first().waitFor()
  const shown = () => page.locator('main pre').allInnerTexts()
  for (const [name, language] of [
    ['curl', 'curl'],
    ['Node', 'node'],
    ['Python', 'python'],
  ] as Array<[string, SnippetLanguage]>) {
    await page.getByRole('radio', { name }).first().click()
    await page.getByRole('region', { name: `Chat, ${name}` }).waitFor()
    const blocks = await shown()
    for (const [topic] of TOPICS) assert.ok(blocks.includes(guideProgram(topic, language, target)), `${topic}, ${name}`)
  }
  for (const { value, label } of CLIENTS) {
    await page.getByRole('tab', { name: label, exact: true }).click()
    await page.getByRole('tabpanel', { name: label, exact: true }).waitFor()
    assert.ok((await shown()).includes(clientProgram(value, target)), label)
  }
  assert.ok((await shown()).includes(`${app.url}/v1`))
  await close()
})

test('choosing a language does not move the program being read', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/guides' })
  await page.getByText('"model": "plain"').first().waitFor()
  const choice = page.locator('#video').getByRole('radio', { name: 'Python' })
  await choice.scrollIntoViewIfNeeded()
  const top = () => choice.evaluate((each) => Math.round(each.getBoundingClientRect().top))
  const before = await top()
  await choice.click()
  await page.getByRole('region', { name: 'Videos, Python' }).waitFor()
  assert.equal(await top(), before)
  await close()
})

test('the page leads to keys, to the reference and to each of its parts', async () => {
  const { page, close } = await openConsole(browser, { app, as: person, path: '/guides' })
  assert.equal(await page.getByRole('link', { name: 'API reference' }).first().getAttribute('href'), '/docs?lang=en')
  await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'Videos' }).click()
  await page.waitForFunction(
    () => document.querySelector('#video')!.getBoundingClientRect().top < window.innerHeight / 2,
  )
  await page.getByRole('link', { name: 'Create API key' }).first().click()
  await page.waitForURL('**/keys')
  await close()
})

const LOOKS = [
  { width: 1280, height: 800, theme: 'light', language: 'en' },
  { width: 360, height: 740, theme: 'dark', language: 'ja' },
  { width: 2560, height: 1300, theme: 'dark', language: 'en' },
] as const
for (const look of firstUnlessCheck(LOOKS)) {
  test(`nothing scrolls sideways and axe finds no barrier: ${look.width}-${look.theme}-${look.language}`, async () => {
    const { page, close, screenshot } = await openConsole(browser, { app, as: person, path: '/guides', ...look })
    await page.getByText('"model": "plain"').first().waitFor()
    const [scroll, inner] = await page.evaluate(
      () => [document.documentElement.scrollWidth, window.innerWidth] as const,
    )
    assert.ok(scroll <= inner, `${scroll} in ${inner}`)
    if (look.width < 2560) assert.deepEqual(await findBarriers(page), [])
    await screenshot(`guides-${look.width}-${look.theme}-${look.language}`)
    await page.locator('#video').scrollIntoViewIfNeeded()
    await screenshot(`guides-${look.width}-${look.theme}-${look.language}-video`)
    await page.locator('#clients').scrollIntoViewIfNeeded()
    await screenshot(`guides-${look.width}-${look.theme}-${look.language}-clients`)
    await close()
  })
}

async function works(topic: Topic, printed: RegExp, runs: () => Promise<string>): Promise<void> {
  rmSync(join(dir, 'clip.mp4'), { force: true })
  assert.match(await runs(), printed)
  if (topic === 'video') assert.equal((await probeFile(join(dir, 'clip.mp4'), 'video')).width, 1366)
}

function runNode(program: string): Promise<string> {
  writeFileSync(join(dir, 'program.mjs'), program)
  return run(process.execPath, ['program.mjs'])
}

async function run(program: string, args: string[], more: Record<string, string> = {}): Promise<string> {
  const env = { PATH: process.env.PATH, KINORA_API_KEY: person.key, POLL_SECONDS: '0.1', ...more }
  const { code, stdout, stderr } = await ended(spawn(program, args, { cwd: dir, env }))
  assert.equal(code, 0, stderr + stdout)
  return stdout
}
