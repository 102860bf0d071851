import { connect, type Socket } from 'node:net'

/** What came back over a socket: header names in lower case, the body as bytes. */
export type RawAnswer = { status: number; headers: Record<string, string>; body: Buffer }

/** A connection on which a test writes whatever it likes, HTTP or not. */
export async function rawConnection(url: string): Promise<{
  socket: Socket
  write(bytes: string | Uint8Array): Promise<void>
  /** The next whole answer; for HEAD and 304 say that no body follows. */
  answer(options?: { bodiless?: boolean }): Promise<RawAnswer>
  close(): void
}> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  let received: Buffer = Buffer.alloc(0)
  let ended = false
  let wake = () => {}
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    wake()
  })
  for (const event of ['end', 'close', 'error'] as const) {
    socket.on(event, () => {
      ended = true
      wake()
    })
  }
  return {
    socket,
    write: (bytes) =>
      new Promise((resolve, reject) => socket.write(bytes, (error) => (error ? reject(error) : resolve()))),
    async answer({ bodiless = false } = {}) {
      while (true) {
        const parsed = parseAnswer(received, bodiless)
        if (parsed) {
          received = received.subarray(parsed.length)
          return parsed.answer
        }
        if (ended) throw new Error(`connection ended after ${received.length} bytes without a whole answer`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    close: () => socket.destroy(),
  }
}

/** One part of a form. With `filename` it is a file part. */
export type Part = { name: string; filename?: string; type?: string; body: string | Uint8Array }

/** A multipart body with the parts in the given order, byte for byte as written here. */
export function multipart(parts: readonly Part[], boundary = 'kinora-boundary'): { type: string; body: Buffer } {
  const pieces = parts.flatMap((part) => {
    const filename = part.filename === undefined ? '' : `; filename="${part.filename}"`
    const type = part.type === undefined ? '' : `content-type: ${part.type}\r\n`
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${part.name}"${filename}\r\n${type}\r\n`
    return [Buffer.from(head), Buffer.from(part.body), Buffer.from('\r\n')]
  })
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
  }
}

function parseAnswer(bytes: Buffer, bodiless: boolean): { answer: RawAnswer; length: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const [statusLine, ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const start = headEnd + 4
  const length = bodiless ? 0 : Number(headers['content-length'] ?? 0)
  if (bytes.length < start + length) return null
  const answer = { status: Number(statusLine!.split(' ')[1]), headers, body: bytes.subarray(start, start + length) }
  return { answer, length: start + length }
}
