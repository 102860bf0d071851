import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { newCustomer, startApp } from '../support/http/app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let browser: Browser
before(async () => {
  browser = await openBrowser()
})

const TRANSLATOR = 'translation: { engine: { kind: chat, base_url: "http://127.0.0.1:1", model: translator } }'

/** The studio in Japanese, with an example of the empty gallery filled in. */
async function takeExample(config?: string) {
  const app = await startApp(config === undefined ? {} : { config })
  const person = await newCustomer(app)
  const { page, close } = await openConsole(browser, { app, as: person, path: '/videos', language: 'ja', width: 390 })
  const area = page.getByRole('textbox', { name: 'プロンプト' })
  await page.getByRole('button', { name: /セリフのある場面/ }).click()
  await page.waitForFunction(() => document.querySelector('textarea')!.value !== '')
  const example = await area.inputValue()
  const end = async () => {
    await close()
    await app.close()
  }
  return { page, area, example, end }
}

const HINT = /日本語のプロンプトを翻訳できません/

test('where Japanese prompts cannot be translated an example is English except for its dialogue, and a Japanese prompt is not submitted', async () => {
  const { page, area, example, end } = await takeExample()
  assert.match(example, /<d>[^<]*[ぁ-ん][^<]*<\/d>/)
  assert.doesNotMatch(example.replace(/<d>.*?<\/d>/g, ''), /[ぁ-んァ-ヶ一-龠]/)
  assert.match((await area.getAttribute('placeholder'))!, /英語で/)
  assert.equal(await page.getByText(HINT).count(), 0)
  await area.fill('静かな湖をゆっくり漂う紙の舟。')
  await page.getByRole('alert').getByText(HINT).waitFor()
  await page.getByText('セリフ以外は英語で書いてください。', { exact: true }).waitFor()
  assert.match((await area.getAttribute('aria-describedby'))!, /error/)
  const button = page.getByRole('button', { name: /^動画を作成/ })
  assert.equal(await button.getAttribute('aria-disabled'), 'true')
  page.on('request', (request) => assert.ok(request.method() !== 'POST', request.url()))
  await area.press('Control+Enter')
  await button.click({ force: true })
  assert.deepEqual(await findBarriers(page), [])
  // Chinese with a Japanese character: the service does not translate it, so it may be submitted.
  await area.fill('鲜の每日。这是关于湖上纸船的视频。')
  await page.getByText(HINT).waitFor({ state: 'detached' })
  await area.fill('A boat on a calm lake. <d>さあ、出発だ！</d> Its name is ひかり.')
  await page.getByText(HINT).waitFor({ state: 'detached' })
  await end()
})

test('where Japanese prompts can be translated, examples are Japanese and there is no warning', async () => {
  const { page, area, example, end } = await takeExample(TRANSLATOR)
  assert.match(example.replace(/<d>.*?<\/d>/g, ''), /[ぁ-ん]/)
  assert.doesNotMatch((await area.getAttribute('placeholder'))!, /英語/)
  await area.fill('静かな湖をゆっくり漂う紙の舟。')
  await page.getByText('15 / 7,000 文字').waitFor()
  assert.equal(await page.getByText(HINT).count(), 0)
  await end()
})
