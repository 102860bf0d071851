import { randomBytes } from 'node:crypto'
import { withEnding } from '../../../media/probe/recognize.ts'
import type { OutboundBody } from '../../../platform/outbound/exchange.ts'
import type { RenderInput } from '../contract.ts'
import { dataUrl, dataUrlBytes, exactly } from './data-url.ts'

/** A text field; a file, streamed; or a file written as a `data:` URL into a text field, streamed too. */
export type Part =
  | { name: string; text: string }
  | { name: string; file: RenderInput; filename: string }
  | { name: string; data_url: RenderInput }

/** A multipart/form-data body of known length that reads its files only while it is sent. Text goes out byte for byte. */
export function multipart(parts: readonly Part[]): { content_type: string; data: OutboundBody } {
  const boundary = `kinora-${randomBytes(16).toString('hex')}`
  const tail = Buffer.from(`--${boundary}--\r\n`)
  const heads = parts.map((part) => Buffer.from(`--${boundary}\r\n${partHead(part)}\r\n\r\n`))
  const size_bytes = parts.reduce((sum, part, i) => sum + heads[i]!.length + partBytes(part) + 2, tail.length)

  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const [i, part] of parts.entries()) {
      yield heads[i]!
      if ('text' in part) yield Buffer.from(part.text)
      else if ('file' in part) yield* exactly(part.file)
      else yield* dataUrl(part.data_url)
      yield CRLF
    }
    yield tail
  }
  return { content_type: `multipart/form-data; boundary=${boundary}`, data: { size_bytes, chunks } }
}

const CRLF = Buffer.from('\r\n')

function partHead(part: Part): string {
  const disposition = `content-disposition: form-data; name="${part.name}"`
  if (!('file' in part)) return disposition
  // Servers go by the ending of the name.
  const filename = withEnding(part.filename, part.file.media_type)
  return `${disposition}; filename="${filename}"\r\ncontent-type: ${part.file.media_type}`
}

function partBytes(part: Part): number {
  if ('text' in part) return Buffer.byteLength(part.text)
  if ('file' in part) return part.file.size_bytes
  return dataUrlBytes(part.data_url)
}
