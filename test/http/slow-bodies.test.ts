import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { route } from '../../server/identity/caller/route.ts'
import { startApp } from '../support/http/app.ts'
import { rawConnection } from '../support/http/raw-http.ts'
import { send } from '../support/http/send.ts'

test('a body that drips past its time is cut off on every route: of forms, without a body, unknown; an upload that pauses for as long', async () => {
  const echo = (path: string, accepts: Array<'json' | 'multipart'>) =>
    route({
      method: 'POST',
      path,
      auth: 'none',
      summary: 'Echo',
      accepts,
      handle: async (_ctx, { request }) => {
        if (path === '/upload') await text(request.raw)
        return request.body ?? {}
      },
    })
  const endpoints = [
    echo('/json', ['json']),
    echo('/both', ['json', 'multipart']),
    echo('/upload', ['multipart']),
    echo('/none', []),
  ]
  const own = await startApp({ endpoints })
  own.app.http.bodySeconds = 0.05
  // Behind an answer, the rest of a small body has as long as an idle connection.
  own.app.http.server.keepAliveTimeout = 50
  const { url } = own
  try {
    for (const path of ['/json', '/both']) {
      const slow = await rawConnection(url)
      await slow.write(
        `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{`,
      )
      await assert.rejects(slow.answer(), /connection ended/)
      slow.close()
    }
    const upload = await rawConnection(url)
    await upload.write('POST /upload HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=x\r\n')
    await upload.write('content-length: 10\r\n\r\n--x')
    await assert.rejects(upload.answer(), /connection ended/)
    for (const [path, status] of [
      ['/none', 200],
      ['/unknown', 404],
    ] as const) {
      const slow = await rawConnection(url)
      await slow.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{`)
      assert.equal((await slow.answer()).status, status)
      await assert.rejects(slow.answer(), /connection ended/)
      slow.close()
    }
    assert.deepEqual((await send(own, 'POST', '/json', {}, { a: 1 })).body, { a: 1 })
  } finally {
    await own.close()
  }
})
