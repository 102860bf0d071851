import { connect } from 'node:net'

/** The load to generate: callers that each send the next request after the previous answer. */
export type ChatLoad = {
  url: string
  headers: Record<string, string>
  body: string
  callers: number
  /** How long, or how many answers. */
  amount: { seconds: number } | { answers: number }
  /** Whether to look for `stamp:<monotonic milliseconds>` in the events, to measure how long each took to arrive. */
  stamped?: boolean
}

export type ChatLoaded = {
  answers: number
  /** Not 200, or ended by an error. */
  failed: number
  seconds: number
  /** From the request to the first byte of the answer. */
  first_ms: Quantiles
  /** From the model server to the client, of all events; `worst_p95`: of the client with the longest delays. */
  delay_ms: Quantiles & { worst_p95: number }
}

export type Quantiles = { p50: number; p99: number; max: number }

/** A client in a process of its own, on bare sockets, so that it takes little CPU from the servers it measures. Reads `ChatLoad` as its argument. */
if (import.meta.main) console.log(JSON.stringify(await run(JSON.parse(process.argv[2]!) as ChatLoad)))

async function run(load: ChatLoad): Promise<ChatLoaded> {
  const started = performance.now()
  const until = 'seconds' in load.amount ? started + load.amount.seconds * 1000 : Number.POSITIVE_INFINITY
  let left = 'answers' in load.amount ? load.amount.answers : Number.POSITIVE_INFINITY
  const seen: Seen = { answers: 0, failed: 0, firsts: [], delays: [] }
  const wantsMore = () => performance.now() < until && left-- > 0
  await Promise.all(Array.from({ length: load.callers }, () => callAgain(load, seen, wantsMore)))
  const seconds = (performance.now() - started) / 1000
  const { answers, failed, firsts, delays } = seen
  const worst_p95 = delays.reduce((worst, own) => Math.max(worst, quantile(sortedOf(own), 0.95)), 0)
  return { answers, failed, seconds, first_ms: quantiles(firsts), delay_ms: { ...quantiles(delays.flat()), worst_p95 } }
}

/** `delays`: of each caller by itself. */
type Seen = { answers: number; failed: number; firsts: number[]; delays: number[][] }

function callAgain(load: ChatLoad, seen: Seen, wantsMore: () => boolean): Promise<void> {
  const { hostname, port } = new URL(load.url)
  const request = requestOf(load)
  const delays: number[] = []
  seen.delays.push(delays)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    let asked = 0
    let answer: Answer | null = null
    const ask = () => {
      if (!wantsMore()) return void socket.end()
      answer = null
      asked = performance.now()
      socket.write(request)
    }
    socket.on('connect', ask)
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.on('data', (bytes) => {
      if (answer === null) {
        answer = readHead(bytes)
        seen.firsts.push(performance.now() - asked)
      } else {
        answer.body_bytes += bytes.length
      }
      if (load.stamped) noteDelays(bytes, delays)
      if (!isWhole(answer, bytes)) return
      seen.answers += 1
      if (answer.status !== 200 || bytes.includes('"error":{')) seen.failed += 1
      ask()
    })
  })
}

function requestOf({ url, headers, body }: ChatLoad): Buffer {
  const { host, pathname } = new URL(url)
  const lines = Object.entries({ host, ...headers, 'content-length': String(Buffer.byteLength(body)) })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`POST ${pathname} HTTP/1.1\r\n${head}\r\n${body}`)
}

/** `length` is null for a body in chunks. */
type Answer = { status: number; length: number | null; body_bytes: number }

/** The head comes in one piece from every server we measure. */
function readHead(bytes: Buffer): Answer {
  const end = bytes.indexOf('\r\n\r\n')
  const head = bytes.toString('latin1', 0, end)
  const length = /content-length: *(\d+)/i.exec(head)?.[1]
  return {
    status: Number(head.slice(9, 12)),
    length: length === undefined ? null : Number(length),
    body_bytes: bytes.length - end - 4,
  }
}

function isWhole({ length, body_bytes }: Answer, bytes: Buffer): boolean {
  if (length !== null) return body_bytes >= length
  return bytes.length >= 5 && bytes.toString('latin1', bytes.length - 5) === '0\r\n\r\n'
}

function noteDelays(bytes: Buffer, delays: number[]): void {
  const now = monotonic()
  for (const [, sent] of bytes.toString('latin1').matchAll(/stamp:([\d.]+)/g)) delays.push(now - Number(sent))
}

/** The same clock in every process of a machine. */
export function monotonic(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000
}

function quantiles(values: number[]): Quantiles {
  const sorted = sortedOf(values)
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), max: quantile(sorted, 1) }
}

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function sortedOf(values: number[]): Float64Array {
  return Float64Array.from(values).sort()
}
