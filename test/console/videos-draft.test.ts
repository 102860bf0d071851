import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { wavHeader } from '../../server/media/wav.ts'
import { samplePicture } from '../support/data/media.ts'
import { newColleague, newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { storedFile } from '../support/http/videos-app.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'
import { choose, mode, prompt } from './video-studio.ts'

const CONFIG = `
moderation: { engine: { kind: rules, deny: [forbidden], media: allow } }
video_models:
  - { id: instant-1, name: Quick, engine: instant, per_second: "0.010000" }
  - id: narrow-1
    name: Narrow
    engine: { kind: videos-api, dialect: vllm-omni, base_url: "http://127.0.0.1:9", seconds: [5, 6], ratios: ["16:9", "1:1"], inputs: [first_frame, reference_images, reference_videos] }
    per_second: "0.010000"
`

let app: TestApp
let browser: Browser
let picture: Buffer
before(async () => {
  browser = await openBrowser()
  app = await startApp({ config: CONFIG })
  picture = Buffer.from(await samplePicture())
})
after(() => app?.close())

test('files are checked before they are sent: kind, size, length and room', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: await newCustomer(app), path: '/videos' })
  const uploads: string[] = []
  const large = join(app.dir, 'large.mp3')
  writeFileSync(large, Buffer.alloc(15 * 1_048_576 + 1))
  page.on('request', (request) => request.method() === 'POST' && uploads.push(request.url()))
  await prompt(page).fill('With material')
  await mode(page, 'References').click()
  await page.getByText('Up to 8 · PNG, JPEG, WebP, GIF · 31.4 MB each').waitFor()
  await page.getByText('Up to 3 · MP3, WAV, M4A, AAC, FLAC, OGG · 15.7 MB and 2–15 s each').waitFor()
  await choose(page, 'Audio', [{ name: 'short.wav', mimeType: 'audio/wav', buffer: silence(1) }])
  await choose(page, 'Audio', large)
  await choose(page, 'Videos', [{ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no clip') }])
  await page.getByText('This file is 15.8 MB. The limit is 15.7 MB.').waitFor()
  await page.getByText('Use a file of 2 to 15 seconds.').waitFor()
  await page.getByText('Use one of MP4, MOV, WebM.').waitFor()
  await page.getByText('Remove the file that cannot be used.').waitFor()
  await screenshot('videos-refused-files')
  assert.deepEqual(uploads, [])
  for (const name of ['large.mp3', 'short.wav', 'notes.txt'])
    await page.getByRole('button', { name: `Remove ${name}` }).click()
  await choose(page, 'Audio', [{ name: 'tone.wav', mimeType: 'audio/wav', buffer: silence(3) }])
  await page.getByText('Audio alone is not enough. Add an image or video.').waitFor()
  const nine = Array.from({ length: 9 }, (_, at) => ({ name: `p${at}.png`, mimeType: 'image/png', buffer: picture }))
  await choose(page, 'Images', nine)
  await page.getByText('No more files fit here.', { exact: true }).waitFor()
  await page.getByText('8 / 8').waitFor()
  await page.locator('[aria-disabled=true]', { hasText: 'Generate' }).waitFor({ state: 'detached' })
  await mode(page, 'Text only').click()
  await page.getByText('9 files under other choices are not sent.').waitFor()
  await mode(page, 'References').click()
  await page.getByText('not sent.').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Move p1.png earlier' }).press('Enter')
  assert.match(await page.getByRole('group', { name: 'Images' }).getByRole('listitem').first().innerText(), /p1\.png/)
  assert.deepEqual(await findBarriers(page), [])
  await close()
})

test('the studio offers what the chosen model can, and keeps the choice for the others', async () => {
  const { page, close } = await openConsole(browser, { app, as: await newCustomer(app), path: '/videos' })
  const ratios = page.getByRole('radio', { name: /^Automatic|^\d+:\d+, / })
  const portrait = page.getByRole('radio', { name: '3:4, portrait' })
  const length = page.getByRole('spinbutton')
  const model = async (name: RegExp) => {
    await page.getByRole('button', { name: /Quick|Narrow/ }).click()
    await page.getByRole('menuitemradio', { name }).click()
  }
  await portrait.click()
  await length.fill('12')
  assert.equal(await ratios.count(), 7)
  await model(/Narrow/)
  await portrait.waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('radio', { name: '16:9, widescreen' }).getAttribute('aria-checked'), 'true')
  assert.deepEqual([await ratios.count(), await length.inputValue()], [2, '6'])
  await mode(page, 'Frames').click()
  await page.getByRole('group', { name: 'First frame' }).waitFor()
  assert.equal(await page.getByRole('group', { name: 'Last frame' }).count(), 0)
  await mode(page, 'References').click()
  await page.getByText('0 / 1', { exact: true }).waitFor()
  assert.equal(await page.getByRole('group', { name: 'Audio' }).count(), 0)
  await model(/Quick/)
  await page.getByRole('group', { name: 'Audio' }).waitFor()
  assert.equal(await portrait.getAttribute('aria-checked'), 'true')
  assert.deepEqual([await ratios.count(), await length.inputValue()], [7, '12'])
  await close()
})

test('a dropped, pasted or previously uploaded image goes to the right slot', async () => {
  const own = await newCustomer(app)
  await storedFile(app, own, { purpose: 'vision' })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  // Its bytes were never stored.
  allow(/status of (404|500)/)
  const bytes = picture.toString('base64')
  for (const [type, name] of [
    ['drop', 'dropped.png'],
    ['paste', 'pasted.png'],
  ] as const) {
    await prompt(page).evaluate(
      (area, [kind, text, file]) => {
        const data = new DataTransfer()
        const picture = Uint8Array.from(atob(text!), (character) => character.charCodeAt(0))
        data.items.add(new File([picture], file!, { type: 'image/png' }))
        const event =
          kind === 'drop'
            ? new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data })
            : new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData: data })
        area.dispatchEvent(event)
      },
      [type, bytes, name],
    )
    await page.getByText(name).waitFor()
  }
  await page.getByRole('group', { name: 'Last frame' }).getByText('pasted.png').waitFor()
  await page.getByRole('button', { name: 'Swap first and last frame' }).click()
  await page.getByRole('group', { name: 'First frame' }).getByText('pasted.png').waitFor()
  await page.getByRole('button', { name: 'Remove dropped.png' }).click()
  await page.getByRole('button', { name: 'From your files' }).click()
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /a\.bin/ })
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Use' }).click()
  await page.getByRole('group', { name: 'Last frame' }).getByText('a.bin').waitFor()
  await close()
})

test('files picked from those uploaded before fill a slot, and the rest is not dropped silently', async () => {
  const own = await newCustomer(app)
  for (let i = 0; i < 4; i++) await storedFile(app, own, { purpose: 'audio' })
  const { page, close, allow } = await openConsole(browser, { app, as: own, path: '/videos' })
  // Their bytes were never stored.
  allow(/status of (404|500)/)
  await mode(page, 'References').click()
  await choose(page, 'Audio', [{ name: 'tone.wav', mimeType: 'audio/wav', buffer: silence(3) }])
  await page.getByRole('group', { name: 'Audio' }).getByRole('button', { name: 'From your files' }).click()
  const files = page.getByRole('dialog').getByRole('button', { name: /a\.bin/ })
  for (const at of [0, 1, 2]) await files.nth(at).click()
  assert.equal(await files.nth(3).isDisabled(), true)
  await page.getByRole('dialog').getByRole('button', { name: 'Use' }).click()
  await page.getByText('No more files fit here.', { exact: true }).waitFor()
  await page.getByText('3 / 3').waitFor()
  await close()
})

test('the draft is there again after a reload and in another tab, with its files, but not for somebody else', async () => {
  const own = await newCustomer(app)
  const { page, context, close } = await openConsole(browser, { app, as: own, path: '/videos' })
  await prompt(page).fill('Half a thought')
  await page.getByRole('radio', { name: '9:16, vertical' }).click()
  await mode(page, 'Frames').click()
  await choose(page, 'Last frame', [{ name: 'end.png', mimeType: 'image/png', buffer: picture }])
  await page.locator('[aria-disabled=true]', { hasText: 'Generate' }).waitFor({ state: 'detached' })
  await page.reload()
  const tab = await context.newPage()
  await tab.goto(page.url())
  for (const each of [page, tab]) {
    await each.getByRole('group', { name: 'Last frame' }).getByText('end.png').waitFor()
    assert.equal(await prompt(each).inputValue(), 'Half a thought')
    assert.equal(await each.getByRole('radio', { name: '9:16, vertical' }).getAttribute('aria-checked'), 'true')
  }
  const [name, value] = (await newColleague(app, own.org_id)).cookie.split('=') as [string, string]
  await context.addCookies([{ name, value, url: app.url }])
  await page.reload()
  await page.getByText('Write a prompt first.').waitFor()
  assert.equal(await prompt(page).inputValue(), '')
  await close()
})

test('the prompt is counted in code points, and the selection becomes dialogue by keyboard', async () => {
  const { page, close } = await openConsole(browser, { app, as: await newCustomer(app), path: '/videos' })
  await prompt(page).fill('👩‍🚀'.repeat(2400))
  await page.getByText('7,200 / 7,000, 200 over the limit').waitFor()
  await page.getByText('The prompt is too long.').waitFor()
  await prompt(page).fill('Ahoy there')
  await prompt(page).evaluate((area: HTMLTextAreaElement) => area.setSelectionRange(0, 4))
  await prompt(page).press("Control+'")
  assert.equal(await prompt(page).inputValue(), '<d>Ahoy</d> there')
  await page.getByText('Spoken: “Ahoy”').waitFor()
  await page.getByRole('button', { name: 'Dialogue', exact: true }).click()
  assert.equal(await prompt(page).inputValue(), 'Ahoy there')
  await close()
})

/** A WAV file of this length without a sound. */
function silence(seconds: number): Buffer {
  const samples = Buffer.alloc(8000 * 2 * seconds)
  return Buffer.concat([wavHeader(samples.length, { rate: 8000, channels: 1 }), samples])
}

test('references are moved by mouse, touch and button, and the prompt names them from the list in their order', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, as: await newCustomer(app), path: '/videos' })
  await mode(page, 'References').click()
  const three = ['a.png', 'b.png', 'c.png'].map((name) => ({ name, mimeType: 'image/png', buffer: picture }))
  await choose(page, 'Images', three)
  const rows = page.getByRole('group', { name: 'Images' }).getByRole('listitem')
  const names = async () => (await rows.allInnerTexts()).map((text) => /\w\.png/.exec(text)![0])
  await rows.nth(2).getByText('KB').or(rows.nth(2).getByText('byte')).waitFor()
  const middle = async (at: number) => {
    const { x, y, width, height } = (await rows.nth(at).locator('[data-drag]').boundingBox())!
    return [x + width / 2, y + height / 2] as const
  }
  const [from, to] = [await middle(0), await middle(2)]
  await page.mouse.move(...from)
  await page.mouse.down()
  await page.mouse.move(to[0], to[1] + 10, { steps: 8 })
  await page.mouse.up()
  assert.deepEqual(await names(), ['b.png', 'c.png', 'a.png'])
  await page.getByText('a.png is now <Picture 3>.').waitFor({ state: 'attached' })
  const touch = await page.context().newCDPSession(page)
  const finger = async (type: 'touchStart' | 'touchMove' | 'touchEnd', place?: readonly [number, number]) =>
    touch.send('Input.dispatchTouchEvent', { type, touchPoints: place ? [{ x: place[0], y: place[1] }] : [] })
  await finger('touchStart', await middle(2))
  await finger('touchMove', [(await middle(0))[0], (await middle(0))[1] - 10])
  await finger('touchEnd')
  assert.deepEqual(await names(), ['a.png', 'b.png', 'c.png'])
  const later = page.getByRole('button', { name: 'Move a.png later' })
  for (let i = 0; i < 3; i += 1) await later.press('Enter')
  assert.deepEqual(await names(), ['b.png', 'c.png', 'a.png'])
  assert.ok(await later.evaluate((each) => each === document.activeElement), 'the focus stays')

  await prompt(page).fill('In the style of, a cat')
  await prompt(page).evaluate((area: HTMLTextAreaElement) => area.setSelectionRange(15, 15))
  await rows.nth(1).getByRole('button', { name: 'Insert <Picture 2> into the prompt' }).click()
  assert.equal(await prompt(page).inputValue(), 'In the style of <Picture 2>, a cat')
  await prompt(page).press('Control+z')
  assert.equal(await prompt(page).inputValue(), 'In the style of, a cat')
  await prompt(page).fill('In the style of')
  await prompt(page).evaluate((area: HTMLTextAreaElement) => {
    area.setSelectionRange(0, 0)
    area.blur()
  })
  await rows.nth(1).getByRole('button', { name: 'Insert <Picture 2> into the prompt' }).click()
  assert.equal(await prompt(page).inputValue(), 'In the style of <Picture 2>')
  await prompt(page).fill('<Picture 4> beside <Picture 1>, with <Audio 1>')
  await page.getByText('The prompt names <Picture 4>, <Audio 1>, but there is no such file.').waitFor()
  await screenshot('videos-references')
  assert.deepEqual(await findBarriers(page), [])
  await close()
})

test('a dialogue tag without its other half is pointed out at the prompt, and shown in it', async () => {
  const { page, close } = await openConsole(browser, { app, as: await newCustomer(app), path: '/videos' })
  await prompt(page).fill('He waves. <d>Hello</d> Then <d>bye')
  await page.getByText('A <d> is never closed. Put </d> after the spoken words.').waitFor()
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  const selected = () =>
    prompt(page).evaluate(({ selectionStart, selectionEnd }: HTMLTextAreaElement) => [selectionStart, selectionEnd])
  assert.deepEqual(await selected(), [28, 31])
  assert.deepEqual(await findBarriers(page), [])
  await prompt(page).fill('bye</d>')
  await page.getByText('A </d> has no <d> before it. Put <d> before the spoken words.').waitFor()
  await prompt(page).fill('<d>bye</d>')
  await page.getByText('A </d> has no').waitFor({ state: 'detached' })
  await close()
})

test('the arrow keys choose aspect ratio, inputs and number of clips', async () => {
  const own = await newCustomer(app)
  const { page, close } = await openConsole(browser, { app, as: own, path: '/videos' })
  const groups = [
    ['Aspect ratio', '16:9', '4:3'],
    ['Inputs', 'Text only', 'Frames'],
    ['Clips', '1', '2'],
  ] as const
  for (const [name, from, to] of groups) {
    const group = page.getByRole('radiogroup', { name })
    await group.getByRole('radio', { name: from }).focus()
    await page.keyboard.press('ArrowRight')
    await group.getByRole('radio', { name: to, checked: true }).waitFor()
  }
  await page.locator('[data-cost]', { hasText: '$0.16' }).waitFor()
  await close()
})
