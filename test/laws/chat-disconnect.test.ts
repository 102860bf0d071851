import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before } from 'node:test'
import type { TestPerson } from '../support/http/app.ts'
import {
  balanceOf,
  chargesOf,
  costOf,
  customer,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../support/http/metered-chat-app.ts'
import { law } from '../support/law.ts'
import { textFrames } from '../support/upstream/chat-upstream.ts'
import { trials } from '../tiers.ts'

/** Requests, and how many at once. The whole law is 10,000. */
const RUNS = trials(500)
const AT_ONCE = 48
const BALANCE = 10n ** 15n

let service: MeteredChatApp
before(async () => {
  service = await startMeteredChatApp()
})
after(() => service.close())

law(
  'however clients disconnect, every admitted request has one entry, and the ledger sums to the balance',
  async (seed) => {
    const { app, upstream } = service
    const words = Array.from({ length: 40 }, (_, i) => `word${i} `)
    upstream.always({ kind: 'stream', frames: textFrames(words), piece_bytes: 700 })
    const people = await Promise.all([1, 2, 3].map(() => customer(service, BALANCE)))
    const front = await startMeteredChatApp({ beside: service })
    let admitted = 0
    const { meter } = front.app.app
    const { expect } = meter
    meter.expect = () => {
      admitted += 1
      expect()
    }
    const visits: Visit[] = []
    const numbers = Array.from({ length: RUNS }, (_, i) => i)
    const walk = async () => {
      for (let i = numbers.pop(); i !== undefined; i = numbers.pop()) {
        const random = dice(seed + i)
        visits.push(await visit(front.app.url, people[random(people.length)]!, random))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, walk))
    await front.close()
    assert.equal(visits.length, RUNS)

    const entries = (await Promise.all(people.map((person) => chargesOf(app, person)))).flat()
    const ids = entries.map(({ request_id }) => request_id!)
    console.log(`${entries.length} entries of ${admitted} admitted; left: ${JSON.stringify(tally(visits))}`)
    assert.equal(new Set(ids).size, ids.length, 'no request twice')
    assert.equal(entries.length, admitted, 'as many entries as admitted requests')
    const charged = new Set(ids)
    const answered = visits.filter(({ request_id }) => request_id !== null)
    for (const { request_id } of answered)
      assert.ok(charged.has(request_id!), `${request_id} began and was not charged`)
    assert.ok(entries.length <= visits.filter(({ asked }) => asked).length)
    for (const person of people) {
      const own = entries.filter(({ org_id }) => org_id === person.org_id)
      const sum = own.reduce((total, { amount }) => total + amount, 0n)
      assert.equal(await balanceOf(app, person), BALANCE + sum)
    }
    for (const { amount, input_tokens: input, cached_input_tokens: cached, output_tokens: output } of entries) {
      assert.equal(-amount, costOf({ input: input!, cached: cached!, output: output! }))
    }
    assert.deepEqual(await app.audit(), {})
    const kinds = tally(visits)
    assert.ok(kinds.whole! > 0 && kinds.cut! > 0, 'some stayed and some left')
  },
)

/** How one request went: `asked` when all of it was sent, `request_id` when its answer began. */
type Visit = { asked: boolean; request_id: string | null; end: 'unsent' | 'unseen' | 'cut' | 'whole' }

/** Sends a request and leaves it at a random byte: of itself, or of its answer, or not at all. */
function visit(url: string, { key }: TestPerson, random: (below: number) => number): Promise<Visit> {
  const model = ['sandbox-1', 'far-1', 'plain-1'][random(3)]!
  const content = ['Hello', 'sandbox:echo one two three four five six seven', 'Tell me of the rain'][random(3)]!
  const stream = random(3) > 0
  const bytes = requestOf(url, key, {
    model,
    stream,
    n: random(8) === 0 ? 2 : 1,
    messages: [{ role: 'user', content }],
  })
  const sends = random(20) === 0 ? random(bytes.length) : bytes.length
  const reads = random(4) === 0 ? Infinity : random(4) === 0 ? 0 : random(stream ? 9000 : 900)
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let received = ''
    let left = false
    const leave = () => {
      left = true
      if (random(2) === 0) socket.destroy()
      else socket.resetAndDestroy()
    }
    socket.on('connect', () =>
      socket.write(bytes.slice(0, sends), () => {
        if (sends < bytes.length || reads === 0) afterTurns(random(12), leave)
      }),
    )
    socket.on('data', (piece) => {
      received += piece.toString('latin1')
      if (received.length > reads) leave()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      const asked = sends === bytes.length
      const request_id = /^x-request-id: (req_\w+)\r\n/m.exec(received)?.[1] ?? null
      const end = !asked ? 'unsent' : received === '' ? 'unseen' : left ? 'cut' : 'whole'
      resolve({ asked, request_id: asked ? request_id : null, end })
    })
  })
}

function requestOf(url: string, key: string, body: object): string {
  const json = JSON.stringify(body)
  const lines = [`host: ${new URL(url).host}`, `authorization: Bearer ${key}`, 'content-type: application/json']
  return [
    'POST /v1/chat/completions HTTP/1.1',
    ...lines,
    `content-length: ${json.length}`,
    'connection: close',
    '',
    json,
  ].join('\r\n')
}

function afterTurns(turns: number, then: () => void): void {
  if (turns === 0) then()
  else setImmediate(afterTurns, turns - 1, then)
}

function tally(visits: readonly Visit[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(visits, ({ end }) => end)].map(([end, list]) => [end, list.length]))
}

/** A die of any number of sides (mulberry32). */
function dice(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}
