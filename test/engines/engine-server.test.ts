import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startEngineServer } from '../support/upstream/engine-server/server.ts'

test('the engine of the tests begins no render for a request that was cut off in its body, as no real engine does', async () => {
  const engines = await startEngineServer()
  try {
    const { hostname, port } = new URL(engines.url)
    const body = JSON.stringify({ model: 'wan', prompt: 'A boat', seconds: '4', size: '1280x720' })
    const head = (length: number) =>
      `POST /v1/videos HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
    const cut = connect(Number(port), hostname)
    // The request is received once its first part was, and the connection ended.
    cut.end(`${head(body.length + 1)}${body}`)
    const received = await engines.received('POST', '/v1/videos')
    assert.equal(received.body.toString(), body)
    assert.equal(engines.started(), 0)

    const whole = connect(Number(port), hostname)
    whole.end(`${head(body.length)}${body}`)
    await engines.received('POST', '/v1/videos')
    whole.resume()
    await new Promise((resolve) => whole.once('close', resolve))
    assert.equal(engines.started(), 1)
  } finally {
    await engines.close()
  }
})
