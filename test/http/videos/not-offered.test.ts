import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

for (const [method, path, call] of [
  ['POST', '/v1/videos/edits', 'edits'],
  ['POST', '/v1/videos/extensions', 'extensions'],
  ['POST', '/v1/videos/characters', 'characters'],
  ['GET', '/v1/videos/characters/char_1', 'characters'],
  ['GET', '/v1/videos/edits', 'edits'],
  ['POST', '/v1/videos/video_01M7WF7EZC9STDJ5QFNZ6B97RD/remix', 'remix'],
] as const) {
  test(`404 for ${method} ${path} says that it is not offered, and what to do instead`, async () => {
    const { key } = await newCustomer(app)
    const { status, body } = await send(app, method, path, { key })
    assert.deepEqual([status, body.error.code], [404, 'unknown_url'])
    assert.match(
      body.error.message,
      new RegExp(`'${call}' of the OpenAI videos API is not offered here: submit a new job`),
    )
  })
}
