import assert from 'node:assert/strict'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { after, before, beforeEach, test } from 'node:test'
import { ApiError } from '../../platform/errors.ts'
import { openByteBudget } from '../../platform/http/body/byte-budget.ts'
import { fetchRemote } from './remote.ts'
import { newBudget, type PartSource } from './source.ts'

type Remote = Parameters<typeof fetchRemote>[0]

/** A host that answers as each path says, and counts what reaches it. */
const PATHS: Record<string, (response: ServerResponse) => void> = {
  '/image': (response) => response.writeHead(200, { 'content-type': 'image/png' }).end('bytes'),
  '/untyped': (response) => response.writeHead(200, { 'content-type': 'application/octet-stream' }).end('bytes'),
  '/html': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('bytes'),
  '/nothing': (response) => response.writeHead(404, { 'content-type': 'image/png' }).end('bytes'),
  '/moved': (response) => response.writeHead(302, { location: '/image', 'content-type': 'image/png' }).end(),
  '/packed': (response) =>
    response.writeHead(200, { 'content-type': 'image/png', 'content-encoding': 'gzip' }).end('bytes'),
  '/announced': (response) =>
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': 20_000_001 }).write('x'),
  '/endless': (response) => {
    response.writeHead(200, { 'content-type': 'image/png' })
    const more = () => {
      while (response.write(Buffer.alloc(65_536)));
      response.once('drain', more)
    }
    more()
  },
  '/cut': (response) => {
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': 100 }).write('x')
    setImmediate(() => response.destroy())
  },
}

const ACCEPTED = ['/image', '/untyped', '/packed']

let server: Server
let origin: string
let requests: string[] = []
before(async () => {
  server = createServer((request, response) => {
    requests.push(request.url!)
    PATHS[request.url!]!(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(() => {
  server.close()
  server.closeAllConnections()
})
beforeEach(() => {
  requests = []
})

test('fetches an image, also when the host sends no specific type or claims a coding that is not there', async () => {
  for (const path of ACCEPTED) assert.equal((await fetched(path)).toString(), 'bytes')
})

test('the same error for every reply that is not an image within the limits; redirects are not followed', async () => {
  const texts = new Set<string>()
  for (const path of Object.keys(PATHS).filter((each) => !ACCEPTED.includes(each))) {
    texts.add(await refusalOf(() => fetched(path)))
  }
  assert.equal(texts.size, 1)
  assert.equal(requests.includes('/image'), false)
})

test('the same error for a host that does not exist and for names that resolve to private addresses: nothing is sent', async () => {
  const known = await refusalOf(() => fetched('/nothing'))
  requests = []
  const resolving =
    (...addresses: string[]): LookupFunction =>
    (_name, _options, callback) =>
      callback(null, addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })) as never)
  const unknown: LookupFunction = (_name, _options, callback) =>
    callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), '', 0)
  const lookups = [
    resolving('127.0.0.1'),
    resolving('93.184.215.14', '10.0.0.1'),
    resolving('::1'),
    resolving('169.254.169.254'),
    unknown,
  ]
  for (const lookup of lookups) {
    const text = await refusalOf(() => fetchRemote(source('http://rebinding.example/a.png'), { ...limits(), lookup }))
    assert.equal(text, known)
    for (const secret of ['127.0.0.1', '10.0.0.1', '::1', '169.254', 'rebinding', 'ENOTFOUND'])
      assert.equal(text.includes(secret), false)
  }
  assert.deepEqual(requests, [])
})

test('bytes are counted as they arrive: the fetch stops when the request is over its budget', async () => {
  const budget = { bytes: 1_000_000, pieces: 1 }
  const error = await caught(() => fetchRemote(source(`${origin}/endless`), { ...limits(), budget }))
  assert.match(error.message, /all files of one request/)
  assert.ok(budget.bytes > -1_000_000, 'it stopped within one read of the limit')
})

test('bytes are fetched as fast as there is room: 503 when it comes too late, also for the fetch', async () => {
  const full = openByteBudget({ total: 200_000, owner: 200_000, wait_seconds: 0.01 })
  const others = full.open('b')
  others.add(200_000)
  const endless = (more: object) => caught(() => fetchRemote(source(`${origin}/endless`), { ...limits(), ...more }))
  assert.equal((await endless({ lease: full.open('a') })).code, 'server_is_overloaded')
  const ending = new AbortController()
  const lease = full.open('a')
  const add = (bytes: number) => {
    const room = lease.add(bytes)
    if (room) others.end()
    if (room) ending.abort()
    return room
  }
  assert.equal((await endless({ lease: { ...lease, add }, signal: ending.signal })).code, 'server_is_overloaded')
})

test('a client that disconnects ends the fetch', async () => {
  const left = new AbortController()
  const pending = refusalOf(() => fetchRemote(source(`${origin}/announced`), { ...limits(), signal: left.signal }))
  left.abort()
  assert.match(await pending, /cannot be fetched/)
})

test('video and audio are accepted by their own media types', async () => {
  for (const family of ['video', 'audio'] as const) {
    const remote: Remote = { from: 'url', family, url: `${origin}/image`, param: 'p', blame: 'b' }
    const { code } = await caught(() => fetchRemote(remote, limits()))
    assert.equal(code, 'invalid_file_data')
  }
  const any: Remote = { from: 'file_url', url: `${origin}/html`, param: 'p', blame: 'b' }
  assert.equal((await fetchRemote(any, limits())).toString(), 'bytes')
})

const source = (url: string): PartSource & { from: 'url' } => ({
  from: 'url',
  family: 'image',
  url,
  param: 'p',
  blame: 'b',
})

/** The test's own host stands in for a public one. */
const limits = () => ({
  budget: newBudget(),
  lease: openByteBudget().open('a'),
  signal: new AbortController().signal,
  trusted_origins: [origin],
})

function fetched(path: string): Promise<Buffer> {
  return fetchRemote(source(origin + path), limits())
}

async function caught(work: () => Promise<unknown>): Promise<ApiError> {
  const error = await work().then(
    () => assert.fail('it was not refused'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ApiError, String(error))
  return error
}

async function refusalOf(work: () => Promise<unknown>): Promise<string> {
  const { code, param, message } = await caught(work)
  assert.deepEqual([code, param], ['invalid_image_url', 'p'])
  return message
}
