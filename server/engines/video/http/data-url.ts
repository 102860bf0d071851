import { randomUUID } from 'node:crypto'
import type { EngineCall } from '../../../platform/outbound/client.ts'
import type { RenderInput } from '../contract.ts'

/** The bytes of a file. Throws unless there are `size_bytes` of them, since another length would shift everything after it. */
export async function* exactly(input: RenderInput): AsyncGenerator<Uint8Array> {
  let left = input.size_bytes
  for await (const chunk of await input.open()) {
    left -= chunk.length
    if (left < 0) break
    yield chunk
  }
  if (left !== 0) throw new Error('A stored file does not have its recorded size.')
}

/** A file as a `data:` URL, piece by piece. */
export async function* dataUrl(input: RenderInput): AsyncGenerator<Uint8Array> {
  yield Buffer.from(head(input))
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of exactly(input)) {
    const bytes = Buffer.concat([rest, chunk])
    const whole = bytes.length - (bytes.length % 3)
    rest = bytes.subarray(whole)
    if (whole > 0) yield Buffer.from(bytes.toString('base64', 0, whole))
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'))
}

/** The length of the complete URL. */
export function dataUrlBytes(input: RenderInput): number {
  return head(input).length + Math.ceil(input.size_bytes / 3) * 4
}

/**
 * JSON with files in it as `data:` URLs, which are read only while the body is sent: no file is in memory in full. `urlOf` gives a
 * placeholder for the URL of a file, to be used in the value from which `body` makes the body.
 */
export function jsonWithDataUrls() {
  const tag = randomUUID()
  const inputs: RenderInput[] = []
  return {
    async urlOf(input: RenderInput): Promise<string> {
      return `${tag}/${inputs.push(input) - 1};`
    },
    body(json: object): NonNullable<EngineCall['body']> {
      // Text and the indices of files take turns.
      const pieces = JSON.stringify(json)
        .split(new RegExp(`${tag}/(\\d+);`))
        .map((piece, i) => (i % 2 === 0 ? Buffer.from(piece) : inputs[Number(piece)]!))
      const size_bytes = pieces.reduce((sum, piece) => sum + (isText(piece) ? piece.length : dataUrlBytes(piece)), 0)
      return { content_type: 'application/json', data: { size_bytes, chunks: () => chunksOf(pieces) } }
    },
  }
}

async function* chunksOf(pieces: ReadonlyArray<Buffer | RenderInput>): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (isText(piece)) yield piece
    else yield* dataUrl(piece)
  }
}

function isText(piece: Buffer | RenderInput): piece is Buffer {
  return Buffer.isBuffer(piece)
}

function head({ media_type }: RenderInput): string {
  return `data:${media_type};base64,`
}
