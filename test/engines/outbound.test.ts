import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { after, test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { Client } from 'undici'
import { engineClient, publicFetch, publicRequest } from '../../server/platform/outbound/client.ts'
import { OutboundError } from '../../server/platform/outbound/error.ts'
import { readAll } from '../../server/platform/outbound/exchange.ts'
import { guardedConnector, isPublicAddress, parsePublicUrl } from '../../server/platform/outbound/guard.ts'

/** Ways to name this machine or a private network that a naive check lets through. */
const PAYLOADS = [
  'http://127.0.0.1/',
  'http://127.1/',
  'http://127.255.255.254/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.0.0.1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://0/',
  'http://0.0.0.0/',
  'http://①②⑦.⓪.⓪.①/',
  'http://127。0。0。1/',
  'http://[::1]/',
  'http://[::]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[::127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b:1::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:7f00:1::]/',
  'http://[fe80::1]/',
  'http://[fc00::1]/',
  'http://[fd00:ec2::254]/latest/meta-data/',
  'http://[ff02::1]/',
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://100.100.100.200/',
  'http://192.0.0.192/',
  'http://198.18.0.1/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://8.8.8.8:22/',
  'http://8.8.8.8:8080/',
  'https://8.8.8.8:6443/',
  'http://localhost/',
  'http://localhost./',
  'http://receiver.localhost/',
  'http://user@8.8.8.8/',
  'http://user:pass@8.8.8.8/',
  'http://8.8.8.8@127.0.0.1/',
  'ftp://8.8.8.8/',
  'file:///etc/passwd',
  'gopher://8.8.8.8/',
  'data:text/plain,x',
  'http://',
  '//8.8.8.8/',
  `http://8.8.8.8/${'x'.repeat(9000)}`,
]

/** Names, with what a hostile resolver says about them. */
const RESOLVED = [
  '127.0.0.1',
  '::1',
  '10.1.2.3',
  '169.254.169.254',
  '::ffff:127.0.0.1',
  '0.0.0.0',
  'fe80::1',
  'not an address',
]

test('no spelling of a private address is requested', async () => {
  for (const url of PAYLOADS) {
    assert.throws(() => parsePublicUrl(url), isForbidden, url)
    await assert.rejects(publicFetch(url, { max_bytes: 1, media: ['*/*'] }), isForbidden, url)
  }
})

test('no name that resolves to a private address is connected to, alone or beside a public one', async () => {
  const { server, origin, seen } = await serve((_, response) => response.end('secret'))
  after(() => server.close())
  for (const address of RESOLVED) {
    for (const answers of [[address], ['93.184.216.34', address]]) {
      const lookup = stubLookup(() => answers)
      await assert.rejects(publicRequest('http://rebind.example/', { max_bytes: 9, lookup }), isForbidden, address)
      const client = new Client(`http://rebind.example:${new URL(origin).port}`, {
        connect: guardedConnector({ lookup }),
      })
      await assert.rejects(client.request({ method: 'GET', path: '/' }), OutboundError)
      await client.destroy()
    }
  }
  assert.equal(seen.connections, 0)
})

test('a name that changes its address after the check gets a socket and not one byte', async () => {
  const { server, origin, seen } = await serve((_, response) => response.end('secret'))
  after(() => server.close())
  let reads = 0
  const lookup: LookupFunction = (_name, _options, callback) => {
    const shifting = { family: 4, get address() { return reads++ === 0 ? '93.184.216.34' : '127.0.0.1' } } // biome-ignore format: one stub
    callback(null, [shifting])
  }
  const client = new Client(`http://rebind.example:${new URL(origin).port}`, { connect: guardedConnector({ lookup }) })
  await assert.rejects(client.request({ method: 'GET', path: '/' }), isForbidden)
  await client.destroy()
  assert.ok(reads > 1)
  assert.equal(seen.requests, 0)
})

test('public addresses are allowed up to the exact boundaries of the private networks', () => {
  for (const address of [
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.0',
    '11.0.0.0',
    '2606:4700:4700::1111',
    '2a00:1450::1',
  ])
    assert.ok(isPublicAddress(address), address)
  assert.equal(parsePublicUrl('HTTPS://Example.com:443/a?b#c').href, 'https://example.com/a?b#c')
  assert.throws(() => parsePublicUrl('http://example.com/', { https_only: true }), isForbidden)
})

test('a redirect is returned, not followed', async () => {
  const { server, origin, seen } = await serve((_, response) => response.writeHead(302, { location: '/next' }).end())
  after(() => server.close())
  const reply = await publicRequest(origin, { max_bytes: 100, trusted_origins: [origin] })
  assert.equal(reply.status, 302)
  await reply.body.cancel()
  await assert.rejects(publicFetch(origin, { max_bytes: 100, trusted_origins: [origin], media: ['video/*'] }), {
    reason: 'refused',
  })
  assert.equal(seen.requests, 2)
})

test('a body over the cap ends with an error, declared or not', async () => {
  const { server, origin } = await serve((request, response) => {
    response.writeHead(200, {
      'content-type': 'video/mp4',
      ...(request.url === '/declared' ? { 'content-length': 1000 } : {}),
    })
    response.end(Buffer.alloc(1000))
  })
  after(() => server.close())
  const limits = { max_bytes: 999, trusted_origins: [origin], media: ['video/*'] }
  await assert.rejects(publicFetch(`${origin}/declared`, limits), { reason: 'too_large' })
  const { body } = await publicFetch(`${origin}/streamed`, limits)
  await assert.rejects(readAll(body), { reason: 'too_large' })
  const whole = await publicFetch(`${origin}/streamed`, { ...limits, max_bytes: 1000 })
  assert.equal((await readAll(whole.body)).length, 1000)
  await assert.rejects(publicFetch(`${origin}/streamed`, { ...limits, media: ['image/*'] }), { reason: 'unreadable' })
})

test('a compressed reply is decoded within the limits, and a coding that is only a name changes nothing', async () => {
  const text = Buffer.from('{"id":"video_1"}')
  const replies: Array<[coding: string, body: Buffer]> = [
    ['gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
    ['zstd', zstdCompressSync(text)],
    ['deflate, gzip', gzipSync(deflateSync(text))],
    ...['gzip', 'zstd', 'deflate', 'aws-chunked', 'UTF-8', 'identity, utf-8'].map((name): [string, Buffer] => [
      name,
      text,
    ]),
    ['gzip', gzipSync(Buffer.alloc(1000))],
  ]
  const { server, origin } = await serve((request, response) => {
    const [coding, body] = replies[Number(request.url!.slice(1))]!
    response.writeHead(200, { 'content-encoding': coding }).end(body)
  })
  after(() => server.close())
  const ask = (i: number) => publicRequest(`${origin}/${i}`, { max_bytes: 999, trusted_origins: [origin] })
  for (const [i, [coding]] of replies.slice(0, -1).entries())
    assert.equal((await readAll((await ask(i)).body)).toString(), text.toString(), `${i}: ${coding}`)
  assert.equal((await ask(0)).headers['content-encoding'], undefined)
  await assert.rejects(readAll((await ask(replies.length - 1)).body), { reason: 'too_large' })
})

test('a compressed reply that is cut short is unreadable', async () => {
  const { server, origin } = await serve((_, response) => {
    const whole = gzipSync(Buffer.from('x'.repeat(1000)))
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(whole.subarray(0, whole.length - 9))
  })
  after(() => server.close())
  const { body } = await publicRequest(origin, { max_bytes: 9999, trusted_origins: [origin] })
  await assert.rejects(readAll(body), { reason: 'unreadable' })
})

test('an engine client follows redirects on its origin alone, with the body where the status says so', async () => {
  const seen: string[] = []
  const { server, origin } = await serve(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push(`${request.method} ${request.url} ${body}`)
    const [, status, left] = /^\/v1\/(\d+)\/(\d)$/.exec(request.url!) ?? []
    if (left !== undefined && left !== '0')
      return response.writeHead(Number(status), { location: `/v1/${status}/${Number(left) - 1}` }).end('moved')
    if (request.url === '/v1/away') return response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()
    response.end('{"n":12345678901234567890}')
  })
  after(() => server.close())
  const client = engineClient({ base_url: `${origin}/v1` })
  const call = async (method: 'GET' | 'POST', path: string) =>
    client.call({ method, path, ...(method === 'POST' ? { json: { a: 1 } } : {}) }, new AbortController().signal)
  const path = (status: number, hops: number) => `/${status}/${hops}`
  for (const status of [307, 308]) assert.equal((await call('POST', path(status, 5))).status, 200)
  assert.deepEqual(new Set(seen.map((each) => each.replace(/\/v1\S+ /, ''))), new Set(['POST {"a":1}']))
  for (const status of [301, 302, 303, 307, 308]) assert.equal((await call('GET', path(status, 5))).status, 200)
  for (const status of [301, 302]) assert.equal((await call('POST', path(status, 1))).status, status)
  assert.equal((await call('POST', path(303, 1))).status, 200)
  assert.equal(seen.at(-1), 'GET /v1/303/0 ')
  assert.equal((await call('POST', path(307, 6))).status, 307)
  const away = await call('POST', '/away')
  assert.equal(away.status, 307)
  const { json } = await call('GET', '/numbers')
  assert.deepEqual(json, { n: '12345678901234567890' }, 'numbers that JavaScript would round are text')
  await client.close()
})

test('a host that never answers is abandoned at the time limit, an aborted call at once', async () => {
  const { server, origin } = await serve(() => {})
  after(() => server.close())
  await assert.rejects(publicRequest(origin, { max_bytes: 1, timeout_ms: 20, trusted_origins: [origin] }), {
    reason: 'timeout',
  })
  const signal = AbortSignal.abort()
  await assert.rejects(publicRequest(origin, { max_bytes: 1, signal, trusted_origins: [origin] }), {
    reason: 'aborted',
  })
})

test('an engine client never leaves its origin or its base path', async () => {
  const { server, origin, seen } = await serve((_, response) => response.end('{}'))
  after(() => server.close())
  const client = engineClient({ base_url: `${origin}/v1`, api_key: 'key' })
  const { signal } = new AbortController()
  for (const path of ['/../admin', '/videos/../../x', '@evil.example/', '//../..'])
    await assert.rejects(client.call({ method: 'GET', path }, signal), isForbidden, path)
  for (const url of ['http://evil.example/', origin.replace('http:', 'https:'), 'http://127.0.0.1:1/'])
    await assert.rejects(async () => client.open(url, { max_bytes: 1, timeout_ms: 1000 }, signal), isForbidden, url)
  assert.equal(seen.requests, 0)
  assert.ok(client.owns(`${origin}/elsewhere`))
  assert.ok(!client.owns('http://evil.example/'))
  await client.close()
})

test('an error of an engine client holds no address, key, path or body', async () => {
  const client = engineClient({
    base_url: 'http://leak-marker-host.invalid:1/leak-marker-path',
    api_key: 'leak-marker-key',
  })
  const call = { method: 'POST', path: '/leak-marker-call', json: { prompt: 'leak-marker-prompt' } } as const
  const error = await client.call(call, new AbortController().signal).catch((error: unknown) => error)
  assert.ok(error instanceof OutboundError)
  assert.doesNotMatch(`${error.stack}${JSON.stringify(error)}${error.cause}`, /leak-marker/)
  await client.close()
})

async function serve(
  listener: RequestListener,
): Promise<{ server: Server; origin: string; seen: { connections: number; requests: number } }> {
  const seen = { connections: 0, requests: 0 }
  const server = createServer((request, response) => {
    seen.requests += 1
    listener(request, response)
  })
  server.on('connection', () => {
    seen.connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

function stubLookup(answers: () => string[]): LookupFunction {
  return (_name, _options, callback) =>
    callback(
      null,
      answers().map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
}

function isForbidden(error: unknown): boolean {
  return error instanceof OutboundError && error.reason === 'forbidden'
}
