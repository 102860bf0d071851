import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Agent, FormData, fetch } from 'undici'
import { LIFETIME_SECONDS } from '../../server/responses/socket/queue.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { openSocket } from '../support/http/socket/client.ts'
import { freePort } from '../support/listen.ts'
import { ROOT } from '../support/sources.ts'
import { TLS_PROXIES, type TlsProxy, type TlsProxyKind } from './tls-proxies.ts'

/** As large as a file may be. */
const BYTES = randomBytes(100_000_000)

for (const kind of TLS_PROXIES)
  describe(`${kind.name}, as deploy/ configures it`, { skip: kind.skip }, () => {
    passesWhatTheServiceDoes(kind)
    answersForNodesThatDoNot(kind)
    sendsNothingTwice(kind)
  })

test('the service keeps an idle connection longer than proxies do by default, and none ends a socket before it', () => {
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
  const kept = Number(/KEEP_ALIVE_SECONDS = (\d+)/.exec(read('server/platform/http/server.ts'))![1])
  const [nginx, caddy] = [read('deploy/nginx.conf'), read('deploy/Caddyfile')]
  // 60 s: the default of nginx (`keepalive_timeout` of an upstream) and of AWS's Application Load Balancer.
  assert.ok(kept > 60)
  assert.doesNotMatch(nginx, /keepalive_timeout/)
  assert.ok(Number(/keepalive (\d+)s/.exec(caddy)![1]) < kept)
  const timeouts = [...nginx.matchAll(/proxy_(?:read|send)_timeout (\d+)m;/g)].map(
    ([, minutes]) => Number(minutes) * 60,
  )
  assert.equal(timeouts.length, 2)
  assert.ok(timeouts.every((seconds) => seconds > LIFETIME_SECONDS))
})

function answersForNodesThatDoNot(kind: TlsProxyKind): void {
  test('the access log, where there is one, has no token of a share link', async (t) => {
    const proxy = await kind.start([`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`])
    const agent = trusting(proxy)
    t.after(async () => {
      await agent.close()
      await proxy.stop()
    })
    const token = randomBytes(32).toString('base64url')
    for (const path of [`/s/${token}`, `//s/${token}/content?lang=ja`, '/v1/models?last=1'])
      await (await fetch(proxy.url + path, { dispatcher: agent })).text()
    const { access_log } = proxy
    if (access_log === undefined) return
    // Written after the response.
    while (!readFileSync(access_log, 'utf8').includes('/v1/models?last=1')) await new Promise(setImmediate)
    const lines = readFileSync(access_log, 'utf8').trim().split('\n')
    assert.deepEqual(
      lines.map((line) => / "(\w+ \S+) HTTP\/[\d.]+" /.exec(line)?.[1]),
      ['GET /s/-', 'GET /s/-/content?lang=ja', 'GET /v1/models?last=1'],
    )
  })

  test('while no node answers, clients get an error in the form of the API', async (t) => {
    const proxy = await kind.start([`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`])
    const agent = trusting(proxy)
    t.after(async () => {
      await agent.close()
      await proxy.stop()
    })
    const answer = await fetch(`${proxy.url}/v1/models`, { dispatcher: agent })
    assert.ok([502, 503].includes(answer.status))
    assert.equal(answer.headers.get('retry-after'), '1')
    assert.match(answer.headers.get('content-type')!, /^application\/json/)
    const { error } = (await answer.json()) as { error: Record<string, unknown> }
    assert.deepEqual([error.type, error.code, error.param], ['server_error', 'server_error', null])
  })
}

/** Two nodes of the service on one database. */
function passesWhatTheServiceDoes(kind: TlsProxyKind): void {
  let nodes: TestApp[] = []
  let proxy: TlsProxy
  let agent: Agent
  let person: TestPerson
  before(async () => {
    const first = await startApp()
    nodes = [first, await startApp({ beside: first })]
    person = await newCustomer(first)
    proxy = await kind.start([hostOf(nodes[0]!.url), hostOf(nodes[1]!.url)])
    agent = trusting(proxy)
  })
  after(async () => {
    await agent?.close()
    await proxy?.stop()
    for (const node of nodes.reverse()) await node.close()
  })

  test('an upload of 100 MB arrives, and ranges of it come back', async () => {
    const headers = { authorization: `Bearer ${person.key}` }
    const form = new FormData()
    form.set('purpose', 'user_data')
    form.set('file', new Blob([BYTES]), 'large.bin')
    const sent = await fetch(`${proxy.url}/v1/files`, { method: 'POST', headers, body: form, dispatcher: agent })
    const file = (await sent.json()) as { id: string; bytes: number }
    assert.deepEqual([sent.status, file.bytes], [200, BYTES.length])
    const content = `${proxy.url}/v1/files/${file.id}/content`
    const range = { range: 'bytes=50000000-50999999' }
    const part = await fetch(content, { headers: { ...headers, ...range }, dispatcher: agent })
    assert.deepEqual([part.status, part.headers.get('content-range')], [206, 'bytes 50000000-50999999/100000000'])
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(BYTES.subarray(50_000_000, 51_000_000)))
    assert.equal(part.headers.get('strict-transport-security'), 'max-age=31536000')
  })

  test('a response over WebSocket comes to its end', async () => {
    const headers = { authorization: `Bearer ${person.key}` }
    const socket = await openSocket(proxy.url, { headers, client: { ca: proxy.ca } })
    socket.send({ type: 'response.create', model: 'sandbox-1', input: 'Hello', store: false })
    const types: string[] = []
    while (types.at(-1) !== 'response.completed') types.push((await socket.next()).type)
    assert.equal(types[0], 'response.created')
    await socket.close()
  })
}

/** Two nodes that note what they receive, and answer as a test says. */
function sendsNothingTwice(kind: TlsProxyKind): void {
  let proxy: TlsProxy
  let agent: Agent
  let received: IncomingMessage[] = []
  let answer: (request: IncomingMessage, response: ServerResponse) => void
  const nodes = Array.from({ length: 2 }, () =>
    createServer((request, response) => {
      if (request.url === '/readyz') return response.end()
      received.push(request)
      answer(request, response)
    }),
  )
  const ask = async (method: string, headers: Record<string, string> = {}) => {
    received = []
    const body = method === 'POST' ? '{}' : null
    const sent = await fetch(`${proxy.url}/v1/x`, { method, headers, body, dispatcher: agent })
    await sent.arrayBuffer()
    return sent.status
  }
  before(async () => {
    for (const node of nodes) await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
    const [first, second] = nodes.map((node) => `127.0.0.1:${(node.address() as AddressInfo).port}`)
    proxy = await kind.start([first!, second!])
    agent = trusting(proxy)
  })
  after(async () => {
    await agent?.close()
    await proxy?.stop()
    for (const node of nodes) {
      node.closeAllConnections()
      node.close()
    }
  })

  test('each event arrives before the next one is sent', async () => {
    let stream: ServerResponse
    answer = (_, response) => {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
    }
    const { body } = await fetch(`${proxy.url}/v1/x`, { dispatcher: agent })
    const reader = body!.getReader()
    for (const number of [1, 2, 3]) {
      assert.equal(Buffer.from((await reader.read()).value!).toString(), `data: ${number}\n\n`)
      stream!.write(`data: ${number + 1}\n\n`)
    }
    await reader.cancel()
  })

  test('the node learns the address of the client, and cannot be given another', async () => {
    answer = (_, response) => response.end()
    assert.equal(await ask('GET', { 'x-forwarded-for': '203.0.113.9' }), 200)
    assert.match(String(received[0]!.headers['x-forwarded-for']), /(^|, )127\.0\.0\.1$/)
  })

  test('a POST that a node received, and that found no answer, reaches no other node; a GET does', async () => {
    answer = (request) => request.socket.destroy()
    assert.deepEqual([await ask('POST'), received.length], [502, 1])
    answer = (request, response) => (received.length === 1 ? request.socket.destroy() : response.end())
    assert.deepEqual([await ask('GET'), received.length], [200, 2])
  })

  test('a POST that meets a dead node reaches the living one', async () => {
    const dead = await freePort()
    const living = await kind.start([`127.0.0.1:${dead}`, `127.0.0.1:${(nodes[1]!.address() as AddressInfo).port}`])
    const own = trusting(living)
    answer = (_, response) => response.end()
    received = []
    try {
      for (let count = 1; count <= 4; count++) {
        const options = { method: 'POST', body: '{}', dispatcher: own }
        assert.equal((await fetch(`${living.url}/v1/x`, options)).status, 200)
        assert.equal(received.length, count)
      }
    } finally {
      await own.close()
      await living.stop()
    }
  })
}

function trusting(proxy: TlsProxy): Agent {
  return new Agent({ allowH2: false, connect: { ca: proxy.ca } })
}

function hostOf(url: string): string {
  return new URL(url).host
}
