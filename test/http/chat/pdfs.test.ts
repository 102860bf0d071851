import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import sharp from 'sharp'
import {
  enterChild,
  freeSlots,
  WAITING_MAX,
  WAITING_OF_ONE_MAX,
} from '../../../server/media/children/concurrency-limit.ts'
import { endlessPdf, lockedPdf, samplePdf } from '../../support/data/pdf.ts'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { dataUrl, messageParts } from './message-parts.ts'

let service: ChatApp
before(async () => {
  service = await startChatApp([{ id: 'm', engine: { fetches_urls: false, inputs: 'data' } }])
})
after(() => service.close())
beforeEach(() => service.upstream.requests.splice(0))

const { ask, given, assertRefused, upload } = messageParts(() => service, 'chat')
const file = (members: object) => ({ type: 'file', file: members })

test('200: a PDF becomes one image per page, in its place, at most 1568 pixels long', async () => {
  const sizes: Array<[size: object, pixels: [number, number]]> = [
    [{}, [1108, 1568]],
    [{ width: 100, height: 50 }, [200, 100]],
    [{ width: 14_400, height: 14_400 }, [1568, 1568]],
    [{ width: 14_400, height: 3 }, [1568, 1]],
  ]
  for (const [size, [width, height]] of sizes) {
    const pdf = samplePdf(2, size)
    const text = { type: 'text', text: 'Read' }
    const parts = await given([text, file({ file_id: await upload(pdf, 'user_data') }), text])
    assert.deepEqual([parts.length, parts[0], parts[3]], [4, text, text])
    for (const page of parts.slice(1, 3)) {
      const picture = sharp(bytesOf(page.image_url.url))
      const meta = await picture.metadata()
      assert.deepEqual([meta.format, meta.width, meta.height], ['jpeg', width, height])
      if (width < 1000 || height < 1000) continue
      const { data } = await picture.raw().toBuffer({ resolveWithObject: true })
      const at = (x: number, y: number) => [...data.subarray((y * width + x) * 3, (y * width + x) * 3 + 3)]
      assert.ok(near(at(5, height - 5), [255, 0, 0]), 'the red square is in the lower left')
      assert.ok(near(at(width - 5, 5), [255, 255, 255]), 'the rest is white')
    }
  }
  const inline = await given([
    file({ file_data: dataUrl('application/pdf', samplePdf(50, { width: 100, height: 50 })), filename: 'a.pdf' }),
  ])
  assert.equal(inline.length, 50)
})

test('400 for a PDF that is too long, encrypted or damaged', async () => {
  const cases: Array<[pdf: Buffer, message: RegExp]> = [
    [samplePdf(51), /more than 50 pages/],
    [samplePdf(5000), /more than 50 pages/],
    [lockedPdf(), /protected by a password|damaged/],
    [Buffer.from('%PDF-1.7\nnothing'), /damaged/],
    [samplePdf(1).subarray(0, 60), /damaged/],
    [samplePdf(0), /damaged/],
  ]
  for (const [pdf, message] of cases) {
    await assertRefused(file({ file_id: await upload(pdf, 'user_data') }), 'invalid_file', 'file.file_id', message)
    await assertRefused(
      file({ file_data: dataUrl('application/pdf', pdf) }),
      'invalid_file_data',
      'file.file_data',
      message,
    )
  }
})

test('200 for a PDF that is declared as another type: the bytes decide', async () => {
  const [page] = await given([file({ file_data: dataUrl('image/png', samplePdf(1)) })])
  assert.match(page.image_url.url, /^data:image\/jpeg;base64,/)
})

test('400 for a PDF that exceeds the memory of its child process; the service stays up and reads the next one', async () => {
  const [endless, good] = await Promise.all([
    ask([file({ file_data: dataUrl('application/pdf', endlessPdf()) })]),
    ask([file({ file_data: dataUrl('application/pdf', samplePdf()) })]),
  ])
  assert.deepEqual([endless.status, endless.body.error?.code], [400, 'invalid_file_data'])
  assert.match(endless.body.error.message, /too long or too much memory/)
  assert.equal(good.status, 200)
})

test('429 while as many PDFs of the organization wait as may, 503 while as many of all do', async () => {
  const pdf = file({ file_data: dataUrl('application/pdf', samplePdf()) })
  const full = [
    [service.person.org_id, WAITING_OF_ONE_MAX, 429, 'too_many_requests', /^Your organization has 32 PDFs waiting/],
    [undefined, WAITING_MAX, 503, 'server_is_overloaded', /^Too many PDFs are waiting/],
  ] as const
  for (const [owner, places, status, code, message] of full) {
    const gone = new AbortController()
    const running = await Promise.all(Array.from({ length: freeSlots() }, () => enterChild('document', { owner })))
    const waiting = Array.from({ length: places }, () => enterChild('document', { owner, signal: gone.signal }))
    const answer = await ask([pdf])
    gone.abort(new Error('gone'))
    for (const each of await Promise.allSettled(waiting)) if (each.status === 'fulfilled') each.value()
    for (const leave of running) leave()
    assert.deepEqual([answer.status, answer.body.error?.code], [status, code])
    assert.match(answer.body.error.message, message)
  }
  assert.equal((await ask([pdf])).status, 200)
})

function bytesOf(url: string): Buffer {
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
}

function near(color: number[], wanted: number[]): boolean {
  return color.every((value, i) => Math.abs(value - wanted[i]!) < 12)
}
