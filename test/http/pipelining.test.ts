import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { leaseUntilClosed, openByteBudget } from '../../server/platform/http/body/byte-budget.ts'
import { boundConnections, endAfterAnswer, WAITING } from '../../server/platform/http/connections.ts'
import { type BareHttp, get, post, startBareHttp, takes } from '../support/http/bare-http.ts'
import { rawConnection } from '../support/http/raw-http.ts'

const MEBIBYTE = 1024 * 1024
const gate = { started: 0, open: () => {}, opened: Promise.resolve() }
const budget = openByteBudget({ total: 100 * MEBIBYTE, owner: MEBIBYTE, wait_seconds: 600 })
let http: BareHttp['http']
let sockets: BareHttp['sockets']
let url: BareHttp['url']
let close: BareHttp['close']
before(async () => {
  ;({ http, sockets, url, close } = await startBareHttp(async (routes) => {
    routes.get('/gate/:number', takes(), async (request) => {
      gate.started += 1
      await gate.opened
      return request.params
    })
    routes.get('/now', takes(), async () => ({}))
    const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
      request.lease = leaseUntilClosed(budget, 'someone', reply)
    }
    routes.post('/held', { ...takes('json'), onRequest }, async () => {
      gate.started += 1
      await gate.opened
      return {}
    })
  }))
})
after(() => close())

function closeGate(): void {
  gate.started = 0
  gate.opened = new Promise((resolve) => {
    gate.open = resolve
  })
}

const manyTurns = async () => {
  for (let i = 0; i < 200; i++) await nextTurn()
}

test('requests of one connection run one after another, few wait for theirs, and all are answered in order', async () => {
  closeGate()
  const count = 5_000
  const connection = await rawConnection(url)
  // As long as those of a browser: one read brings no more than may wait.
  const padding = { 'x-padding': 'x'.repeat(2000) }
  const written = connection.write(Array.from({ length: count }, (_, i) => get(`/gate/${i}`, padding)).join(''))
  while (gate.started === 0) await nextTurn()
  await manyTurns()
  assert.equal(gate.started, 1)
  const read = sockets.at(-1)!.bytesRead
  assert.ok(read <= 3 * 64 * 1024, `${read} bytes were read`)
  gate.open()
  for (let i = 0; i < count; i++)
    assert.deepEqual(JSON.parse(String((await connection.answer()).body)), { number: `${i}` })
  await written
  connection.close()
})

test('the client of a request that runs is known to be gone at once, also when others wait behind it', async () => {
  closeGate()
  const gone = new Promise((resolve) => http.server.once('connection', (socket) => socket.once('close', resolve)))
  const connection = await rawConnection(url)
  await connection.write(get('/gate/1') + get('/gate/2'))
  while (gate.started === 0) await nextTurn()
  connection.close()
  await gone
  gate.open()
  await manyTurns()
  assert.equal(gate.started, 1)
})

test('as many requests as may wait behind one are answered', async () => {
  const connection = await rawConnection(url)
  await connection.write(get('/now').repeat(WAITING.connection + 1))
  for (let i = 0; i <= WAITING.connection; i++) assert.equal((await connection.answer()).status, 200)
  connection.close()
})

test('a connection ends at once when one read brings more requests than may wait, however long the first of them runs', async () => {
  closeGate()
  let made = 0
  const count = () => {
    made += 1
  }
  subscribe('http.server.request.start', count)
  const connection = await rawConnection(url)
  connection.socket.on('error', () => {})
  await connection.write(get('/gate/1') + get('/now').repeat(1500))
  await assert.rejects(connection.answer(), /connection ended after 0 bytes/)
  unsubscribe('http.server.request.start', count)
  // The rest of the read costs nothing.
  assert.ok(made <= WAITING.connection + 2, `${made} requests were made`)
  gate.open()
  // Later connections have the parsers of those that ended.
  for (let i = 0; i < 20; i++) {
    const next = await rawConnection(url)
    await next.write(get('/now'))
    assert.equal((await next.answer()).status, 200)
    next.close()
  }
})

/** A server of its own that answers nothing until the test does, and how many requests wait on its connections. */
async function stalledServer(t: TestContext, handler: RequestListener, limits: Partial<typeof WAITING>) {
  const server = createServer(boundConnections(handler, limits))
  const ends = new Set<Socket>()
  server.on('connection', (socket) => {
    ends.add(socket)
    socket.once('close', () => ends.delete(socket))
  })
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** A connection from an address of this machine, with a request that runs and `waiting` behind it. Its end, once it has one. */
  const send = async (localAddress: string, waiting: number) => {
    const before = new Set(ends)
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.on('error', () => {})
    await once(socket, 'connect')
    const accepted = () => [...ends].find((each) => !before.has(each))
    while (!accepted()) await nextTurn()
    const end = accepted()!
    const bytes = get('/').repeat(1 + waiting)
    socket.write(bytes)
    while (!end.destroyed && end.bytesRead < bytes.length) await nextTurn()
    return { socket, end }
  }
  return { send }
}

test('the connections of one network may have so many waiting requests and no more; other networks are not affected', async (t) => {
  const { send } = await stalledServer(t, () => {}, { connection: 10, network: 20 })
  const first = await send('127.0.0.1', 10)
  const second = await send('127.0.0.1', 10)
  const third = await send('127.0.0.1', 1)
  const other = await send('127.0.0.2', 10)
  const ends = [first, second, third, other]
  assert.deepEqual(
    ends.map(({ end }) => end.destroyed),
    [false, false, true, false],
  )
  first.socket.destroy()
  await once(first.end, 'close')
  assert.equal((await send('127.0.0.1', 10)).end.destroyed, false)
})

test('when a process has as many waiting requests as it takes, the connection that has waited longest makes room', async (t) => {
  const { send } = await stalledServer(t, () => {}, { connection: 10, process: 20 })
  const ends = []
  for (const host of [1, 2, 3]) ends.push((await send(`127.0.0.${host}`, 10)).end)
  assert.deepEqual(
    ends.map(({ destroyed }) => destroyed),
    [true, false, false],
  )
})

test('no more may follow a request behind whose answer the connection ends', async (t) => {
  const { send } = await stalledServer(t, (request) => endAfterAnswer(request, { discard: false }), { connection: 10 })
  assert.equal((await send('127.0.0.1', 10)).end.destroyed, false)
  assert.equal((await send('127.0.0.1', 11)).end.destroyed, true)
})

test('a response that is not read ends with its connection soon once requests wait behind it', async (t) => {
  const large = Buffer.alloc(32 * MEBIBYTE)
  const { send } = await stalledServer(t, (_, response) => void response.end(large), { unread_seconds: 0.05 })
  const alone = await send('127.0.0.1', 0)
  alone.socket.pause()
  const { socket, end } = await send('127.0.0.1', 1)
  socket.pause()
  await once(end, 'close')
  assert.equal(alone.end.destroyed, false)
})

test('a request may run as long as it likes while others wait behind it', async (t) => {
  const running: ServerResponse[] = []
  const { send } = await stalledServer(t, (_, response) => void running.push(response), { unread_seconds: 0.01 })
  const { end } = await send('127.0.0.1', 1)
  const other = await send('127.0.0.1', 0)
  // Longer than the limit: as long as another connection takes to be cut.
  running.at(-1)!.end(Buffer.alloc(32 * MEBIBYTE))
  other.socket.pause()
  other.socket.write(get('/'))
  await once(other.end, 'close')
  await manyTurns()
  assert.equal(end.destroyed, false)
})

test('of many requests as many run as their bytes have room, and little more than those is read', async () => {
  closeGate()
  const body = JSON.stringify({ text: 'x'.repeat(40_000) })
  const request = post('/held', `content-length: ${body.length}`) + body
  const connections = await Promise.all(Array.from({ length: 40 }, () => rawConnection(url)))
  const written = connections.map(({ write }) => write(request.repeat(3)))
  // One more than there is room for may run.
  const count = Math.ceil(MEBIBYTE / body.length)
  while (gate.started < count) await nextTurn()
  await manyTurns()
  assert.equal(gate.started, count)
  const ends = sockets.slice(-connections.length)
  const read = ends.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  assert.ok(read < budget.held() + ends.length * 2 * 64 * 1024, `${read} bytes were read`)
  gate.open()
  for (const { answer } of connections) for (let i = 0; i < 3; i++) assert.equal((await answer()).status, 200)
  await Promise.all(written)
  for (const { close } of connections) close()
  while (budget.held() > 0) await nextTurn()
})

test('requests that follow each other without pipelining are never held back', async () => {
  const connection = await rawConnection(url)
  for (let i = 0; i < 100; i++) {
    await connection.write(get('/now'))
    assert.equal((await connection.answer()).status, 200)
  }
  connection.close()
})
