import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { rawConnection } from '../support/http/raw-http.ts'
import { frame, handshake, handshakeText, openSocket } from '../support/http/socket/client.ts'
import { startEcho, stopEchoes } from './websocket-echo.ts'

let echo: Awaited<ReturnType<typeof startEcho>>
before(async () => {
  echo = await startEcho()
})
after(stopEchoes)
afterEach(async () => {
  while (echo.sockets.count() > 0) await nextTurn()
})

const PATH = { path: '/echo' }

test('messages go both ways, whatever their size; a client that offers compression sends them as they are', async () => {
  for (const perMessageDeflate of [false, true]) {
    const client = await openSocket(echo.url, { ...PATH, client: { perMessageDeflate } })
    assert.match(String(client.headers['x-request-id']), /^req_[0-9a-f]{32}$/)
    assert.equal(client.headers['x-more'], 'told')
    assert.equal(client.headers['sec-websocket-extensions'], undefined)
    for (const text of ['a', 'é'.repeat(100), 'x'.repeat(70_000), 'x'.repeat(2_000_000)]) {
      client.send({ text })
      assert.equal((await client.next()).text, text)
    }
    await client.close()
  }
})

test('a handshake is a line of the access log, once, when its connection has ended', async () => {
  const before = echo.lines.length
  const client = await openSocket(echo.url, PATH)
  const id = client.headers['x-request-id']
  await client.close()
  await nextTurn()
  const lines = echo.lines.slice(before)
  assert.deepEqual(
    lines.map(({ request_id, method, route, status }) => ({ request_id, method, route, status })),
    [{ request_id: id, method: 'GET', route: '/echo', status: 101 }],
  )
})

test('an Upgrade that the service does not support is ignored', async () => {
  const plain = [
    await handshake(
      echo.url,
      { upgrade: 'h2c', connection: 'Upgrade, HTTP2-Settings', 'http2-settings': 'x' },
      'GET /echo',
    ),
    await handshake(echo.url, { upgrade: 'websocket, x' }, 'GET /echo'),
    await handshake(echo.url, { connection: 'keep-alive' }, 'GET /echo'),
    await handshake(echo.url, { upgrade: null }, 'GET /echo/'),
  ]
  for (const { status, body } of plain) assert.deepEqual([status, String(body)], [200, '{"plain":true}'])
  assert.equal((await handshake(echo.url, {}, 'GET /other')).status, 404)
  assert.equal((await handshake(echo.url, { 'content-length': '0' }, 'POST /echo')).status, 404)
})

test('the path also matches with a trailing slash, a query and capital letters in the protocol', async () => {
  for (const request of ['GET /echo', 'GET /echo/', 'GET /echo?model=x', 'GET /echo/?']) {
    assert.equal(
      (await handshake(echo.url, { upgrade: 'WebSocket', connection: 'keep-alive, upgrade' }, request)).status,
      101,
    )
  }
})

test('400 in the envelope, with a request id, for a handshake that is not valid', async () => {
  const wrong: Array<Record<string, string | null>> = [
    { 'sec-websocket-key': null },
    { 'sec-websocket-key': 'short' },
    { 'sec-websocket-version': '12' },
    { 'sec-websocket-version': null },
    { 'sec-websocket-protocol': ',,' },
  ]
  for (const headers of wrong) {
    const answer = await handshake(echo.url, headers, 'GET /echo')
    const { error } = JSON.parse(String(answer.body))
    assert.deepEqual([answer.status, error.code], [400, 'invalid_request_error'], JSON.stringify(headers))
    assert.match(answer.headers['x-request-id']!, /^req_/)
    assert.equal(answer.headers['sec-websocket-version'], '13')
    assert.equal(answer.headers.connection, 'close')
  }
})

test('a refusal is an ordinary answer before any upgrade, and a line of the log', async () => {
  const before = echo.lines.length
  const answer = await handshake(echo.url, { authorization: 'no' }, 'GET /echo')
  assert.equal(answer.status, 401)
  assert.equal(answer.headers['www-authenticate'], 'Bearer')
  assert.equal(JSON.parse(String(answer.body)).error.code, 'invalid_api_key')
  assert.deepEqual(
    echo.lines.slice(before).map(({ status, request_id }) => [status, request_id]),
    [[401, answer.headers['x-request-id']]],
  )
})

test('a handshake after a request that is not answered yet ends the connection, and nothing else', async () => {
  const connection = await rawConnection(echo.url)
  const body = 'POST /slow HTTP/1.1\r\nhost: kinora\r\ncontent-length: 0\r\n\r\n'
  await connection.write(body + handshakeText({}, 'GET /echo'))
  await assert.rejects(connection.answer())
  const client = await openSocket(echo.url, PATH)
  await client.close()
})

test('a message that comes with the handshake, before its answer, is not lost', async () => {
  const connection = await rawConnection(echo.url)
  const echoed = new Promise<void>((resolve) => {
    let received = ''
    connection.socket.on('data', (bytes) => {
      received += bytes
      if (received.endsWith('"early"')) resolve()
    })
  })
  await connection.write(Buffer.concat([Buffer.from(handshakeText({}, 'GET /echo')), frame(0x81, '"early"')]))
  await echoed
  const gone = new Promise((resolve) => echo.served.at(-1)!.signal.addEventListener('abort', resolve))
  connection.close()
  await gone
})

test('messages that arrive together are handled in a turn of the event loop each', async () => {
  const connection = await rawConnection(echo.url)
  await connection.write(handshakeText({}, 'GET /echo'))
  await connection.answer()
  const perTurn: number[] = []
  let inTurn = 0
  const send = echo.served.at(-1)!.send
  const endTurn = () => {
    perTurn.push(inTurn)
    inTurn = 0
  }
  const count = () => {
    if (inTurn === 0) setImmediate(endTurn)
    inTurn += 1
  }
  echo.served.at(-1)!.send = (...texts) => {
    count()
    return send(...texts)
  }
  await connection.write(Buffer.concat(Array.from({ length: 200 }, () => frame(0x81, '1'))))
  while (perTurn.reduce((sum, each) => sum + each, 0) < 200) await nextTurn()
  assert.equal(Math.max(...perTurn), 1)
  const gone = new Promise((resolve) => echo.served.at(-1)!.signal.addEventListener('abort', resolve))
  connection.close()
  await gone
})

test('no message is delivered after we closed, and a client that goes on sending is cut off', async () => {
  const timing = { ping_seconds: 3600, stalled_seconds: 3600, close_timeout_seconds: 3600 }
  const { url, served } = await startEcho({ timing })
  const connection = await rawConnection(url)
  await connection.write(handshakeText({}, 'GET /echo'))
  await connection.answer()
  const { signal, close } = served[0]!
  let answers = 0
  served[0]!.send = () => {
    answers += 1
    return undefined
  }
  const cut = new Promise((resolve) => signal.addEventListener('abort', resolve))
  close(1008, 'too many messages')
  await connection.write(Buffer.concat(Array.from({ length: 1001 }, () => frame(0x81, '1'))))
  await cut
  assert.equal(answers, 0)
  connection.close()
})

test('frames that break the protocol close the connection with the code for it', async () => {
  const broken: Array<[frames: Buffer[], code: number]> = [
    [[frame(0x81, 'x', { masked: false })], 1002],
    [[frame(0xc1, 'x')], 1002],
    [[frame(0x83, 'x')], 1002],
    [[frame(0x80, 'x')], 1002],
    [[frame(0x09, 'x')], 1002],
    [[frame(0x89, 'x'.repeat(126))], 1002],
    [[frame(0x01, 'x'), frame(0x81, 'x')], 1002],
    [[frame(0x81, Buffer.from([0xff, 0xfe]))], 1007],
    [[frame(0x88, Buffer.from([3]))], 1002],
    [[frame(0x88, Buffer.from([0, 1]))], 1002],
    [[Buffer.from([0x81, 0xff, 0, 0, 0, 0, 4, 0, 0, 1, 0, 0, 0, 0])], 1009],
    [[Buffer.from([0x81, 0xff, 0xff, 0, 0, 0, 4, 0, 0, 1, 0, 0, 0, 0])], 1009],
  ]
  for (const [frames, code] of broken) {
    const connection = await rawConnection(echo.url)
    await connection.write(handshakeText({}, 'GET /echo'))
    await connection.answer()
    const said = new Promise<Buffer>((resolve) => connection.socket.once('data', resolve))
    await connection.write(Buffer.concat(frames))
    const close = await said
    assert.deepEqual([close[0], close.readUInt16BE(2)], [0x88, code], frames[0]!.subarray(0, 4).toString('hex'))
    const gone = new Promise((resolve) => echo.served.at(-1)!.signal.addEventListener('abort', resolve))
    connection.close()
    await gone
  }
})

test('a client that leaves two pings unanswered is disconnected; one that answers is not', async () => {
  const timing = { ping_seconds: 0.03, stalled_seconds: 30, close_timeout_seconds: 1 }
  const { url, served } = await startEcho({ timing })
  const lively = await openSocket(url, PATH)
  const silent = await openSocket(url, { ...PATH, client: { autoPong: false } })
  let pings = 0
  silent.ws.on('ping', () => {
    pings += 1
  })
  assert.equal((await silent.closed).code, 1006)
  assert.equal(pings, 2)
  assert.ok(served[1]!.signal.aborted)
  lively.send('1')
  assert.equal(await lively.next(), 1)
  await lively.close()
})

test('a client that never reads holds its producer back and is cut off; its memory stays bounded', async () => {
  const timing = { ping_seconds: 30, stalled_seconds: 0.1, close_timeout_seconds: 1 }
  const { url, served } = await startEcho({ timing })
  const client = await openSocket(url, PATH)
  client.ws.pause()
  const connection = served[0]!
  const megabyte = JSON.stringify('x'.repeat(1 << 20))
  let sent = 0
  while (!connection.signal.aborted) {
    sent += 1
    await connection.send(megabyte)
    assert.ok(sent < 100)
  }
  client.ws.resume()
  await client.closed
})

test('429 for one connection too many of one owner, 503 of all; room again when one ends', async () => {
  const { url, sockets } = await startEcho({ limits: { connections_max: 3, per_owner_max: 2 } })
  const open = (owner: string) => openSocket(url, { ...PATH, headers: { owner } })
  const clients = [await open('a'), await open('a')]
  const refusal = async (owner: string) => {
    const { status, body } = await handshake(url, { owner }, 'GET /echo')
    const { code, message } = JSON.parse(String(body)).error
    return [status, code, message]
  }
  const own = 'Your organization has 2 WebSocket connections. Close one, or use server-sent events.'
  assert.deepEqual(await refusal('a'), [429, 'too_many_requests', own])
  clients.push(await open('b'))
  assert.deepEqual(
    await refusal('a'),
    [429, 'too_many_requests', own],
    'its own limit is the one it can do something about',
  )
  const all = 'The service has too many WebSocket connections. Try again shortly, or use server-sent events.'
  assert.deepEqual(await refusal('c'), [503, 'server_is_overloaded', all])
  await clients[0]!.close()
  while (sockets.count() > 2) await nextTurn()
  clients[0] = await open('c')
  for (const client of clients) await client.close()
})

test('draining signals every connection, waits for those that close, and terminates the rest', async () => {
  const { url, served, sockets } = await startEcho()
  const [polite, stubborn] = [await openSocket(url, PATH), await openSocket(url, PATH)]
  served[0]!.draining.addEventListener('abort', () => served[0]!.close(1001, 'shutting down'))
  const drained = sockets.drain({ seconds: 0.2 })
  assert.deepEqual(await polite.closed, { code: 1001, reason: 'shutting down' })
  assert.equal((await stubborn.closed).code, 1006)
  await drained
  assert.equal(sockets.count(), 0)
  assert.equal((await handshake(url, {}, 'GET /echo')).status, 503)
})
