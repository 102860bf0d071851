import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyKind } from './body.ts'

test('the kind of a body is found however its first bytes are split', () => {
  for (const [text, kind] of [
    ['  \r\n {"a":1}', 'text'],
    ['\ufeff \n[1]', 'text'],
    ['\n\ndata: 1', 'text'],
    ['\ufeffdata: 1', 'text'],
    [' <html>', 'page'],
  ] as const) {
    const bytes = Buffer.from(text)
    let found: ReturnType<typeof bodyKind> = null
    for (let read = 1; found === null && read <= bytes.length; read++)
      found = bodyKind(bytes.subarray(0, read), { known_blank: read - 1 })
    assert.equal(found, kind, JSON.stringify(text))
  }
  const gzip = Buffer.of(0x1f, 0x8b, 8)
  assert.equal(bodyKind(gzip.subarray(0, 1), { known_blank: 0 }), null)
  assert.equal(bodyKind(gzip, { known_blank: 1 }), 'gzip')
})

test('blank bytes that are known are not read again', () => {
  const bytes = Buffer.alloc(64 * 1024, ' ')
  const { user } = process.cpuUsage()
  for (let read = 1; read <= bytes.length; read++) bodyKind(bytes.subarray(0, read), { known_blank: read - 1 })
  assert.ok(process.cpuUsage().user - user < 1e6)
})
