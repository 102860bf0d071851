import { Duplex, pipeline, Readable, type Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type ZlibOptions,
} from 'node:zlib'
import { splitFrames } from './zstd-frames.ts'

type Coding = 'gzip' | 'deflate' | 'br' | 'zstd'

/**
 * The codings that a reply names, in the order in which they were applied. Names that no registry has, such as `aws-chunked` or `UTF-8`,
 * are left out: servers send them with plain bytes. Source: https://www.iana.org/assignments/http-parameters (content codings).
 */
export function codingsOf(header: string | string[] | undefined): Coding[] {
  const names = [header ?? []].flat().flatMap((value) => value.toLowerCase().split(','))
  return names.flatMap((name) => CODINGS.get(name.trim()) ?? [])
}

/**
 * The bytes of a body without its codings, read as they are asked for. A body that only claims to be compressed comes as it is. `few_frames`:
 * fails for many short frames or blocks of zstd, as `splitFrames` says. `may_break_off`: where the body ends too early, so do the bytes.
 */
export async function* decodeChunks(
  body: Readable,
  codings: readonly Coding[],
  { few_frames = false, may_break_off = false }: { few_frames?: boolean; may_break_off?: boolean } = {},
): AsyncGenerator<Buffer> {
  const chunks = body[Symbol.asyncIterator]()
  const { head, ended } = await readHead(chunks)
  const rest = Readable.from(restOf(head, ended ? null : chunks), { objectMode: false })
  if (!isCoded(head, codings.at(-1)!)) return yield* rest as AsyncIterable<Buffer>
  const decoders = codings.toReversed().flatMap((coding, i) => {
    const decoder = DECODERS[coding]({ head: i === 0 ? head : null, may_break_off })
    return coding === 'zstd'
      ? [Duplex.from((bytes: AsyncIterable<Buffer>) => splitFrames(bytes, { few: few_frames })), decoder]
      : [decoder]
  })
  // Errors reach the reader of the last stream.
  pipeline([rest, ...decoders], () => {})
  yield* decoders.at(-1)! as AsyncIterable<Buffer>
}

/** A map, since the names are a client's or a server's. */
const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
])

type DecoderOptions = { head: Buffer | null; may_break_off: boolean }

const DECODERS: Record<Coding, (options: DecoderOptions) => Transform> = {
  gzip: (options) => createGunzip(zlibOptions(options)),
  // Some servers leave out the header of zlib. Source: https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1.2
  deflate: (options) =>
    options.head === null || isZlib(options.head)
      ? createInflate(zlibOptions(options))
      : createInflateRaw(zlibOptions(options)),
  br: ({ may_break_off }) =>
    createBrotliDecompress(may_break_off ? { finishFlush: constants.BROTLI_OPERATION_FLUSH } : {}),
  zstd: ({ may_break_off }) =>
    createZstdDecompress({
      params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
      ...(may_break_off && { finishFlush: constants.ZSTD_e_flush }),
    }),
}

/** Node drops what it has decoded and nobody has read when it finds the end missing; with this it looks for none. */
function zlibOptions({ may_break_off }: DecoderOptions): ZlibOptions {
  return may_break_off ? { finishFlush: constants.Z_SYNC_FLUSH } : {}
}

/** 8 MB, the most that zstd may ask of a decoder over HTTP. Source: https://www.rfc-editor.org/rfc/rfc9659 */
const ZSTD_WINDOW_LOG_MAX = 23

/** Enough to recognize a coding. */
const HEAD_BYTES = 4

async function readHead(chunks: AsyncIterator<Buffer>): Promise<{ head: Buffer; ended: boolean }> {
  let head: Buffer = Buffer.alloc(0)
  while (head.length < HEAD_BYTES) {
    const { done, value } = await chunks.next()
    if (done) return { head, ended: true }
    head = Buffer.concat([head, value])
  }
  return { head, ended: false }
}

async function* restOf(head: Buffer, chunks: AsyncIterator<Buffer> | null): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head
  if (chunks !== null) yield* { [Symbol.asyncIterator]: () => chunks }
}

/** Brotli has no mark of its own. */
function isCoded(head: Buffer, coding: Coding): boolean {
  if (head.length === 0) return false
  if (coding === 'gzip') return head[0] === 0x1f && head[1] === 0x8b
  if (coding === 'zstd') return head.length >= HEAD_BYTES && head.readUInt32LE(0) === 0xfd2fb528
  return coding === 'br' || isZlib(head) || !/^\s*[{[<"]/.test(head.toString('latin1'))
}

function isZlib(head: Buffer): boolean {
  return head.length >= 2 && (head[0]! & 0x0f) === 8 && head.readUInt16BE(0) % 31 === 0
}
