import { crc32 } from 'node:zlib'

/** A file of an archive. Exactly `size_bytes` are read, once, when its place comes. */
export type ZipEntry = {
  name: string
  size_bytes: number
  modified_at: Date
  open(): Promise<AsyncIterable<Uint8Array>>
}

/** More than a field of 32 bits can say is said in fields of 64. */
const MAX_32 = 0xffff_ffff
/** The checksum follows the bytes; names are UTF-8. */
const FLAGS = 0x0808
const VERSION = { plain: 20, zip64: 45 }

/**
 * A ZIP archive of stored files: its length, and its bytes as they are read, one piece at a time.
 * Source: APPNOTE 6.3.10, https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 */
export function zipOf(entries: readonly ZipEntry[]): { size_bytes: number; bytes: AsyncGenerator<Uint8Array> } {
  let offset = 0
  const placed = entries.map((entry) => {
    const at = { ...entry, encoded: Buffer.from(entry.name), offset, is_big: entry.size_bytes >= MAX_32 }
    offset += localHeader(at).length + entry.size_bytes + descriptor(at, 0).length
    return at
  })
  const directory = placed.reduce((sum, each) => sum + centralHeader(each, 0).length, 0)
  const end = endOf({ count: placed.length, offset, size: directory })
  return { size_bytes: offset + directory + end.length, bytes: write(placed, end) }
}

type Placed = ZipEntry & { encoded: Buffer; offset: number; is_big: boolean }

async function* write(placed: readonly Placed[], end: Buffer): AsyncGenerator<Uint8Array> {
  const directory: Buffer[] = []
  for (const entry of placed) {
    yield localHeader(entry)
    let sum = 0
    let read = 0
    for await (const chunk of await entry.open()) {
      sum = crc32(chunk, sum)
      read += chunk.length
      if (read > entry.size_bytes) break
      yield chunk
    }
    if (read !== entry.size_bytes) throw new Error(`${entry.name} does not have ${entry.size_bytes} bytes`)
    yield descriptor(entry, sum)
    directory.push(centralHeader(entry, sum))
  }
  for (const header of directory) yield header
  yield end
}

function localHeader({ encoded, is_big, modified_at }: Placed): Buffer {
  const extra = is_big ? zip64Extra([0, 0]) : Buffer.alloc(0)
  const size = is_big ? MAX_32 : 0
  return Buffer.concat([
    u32(0x04034b50),
    ...[u16(is_big ? VERSION.zip64 : VERSION.plain), u16(FLAGS), u16(0), dosTime(modified_at)],
    ...[u32(0), u32(size), u32(size), u16(encoded.length), u16(extra.length), encoded, extra],
  ])
}

function descriptor({ is_big, size_bytes }: Placed, sum: number): Buffer {
  const size = is_big ? u64(size_bytes) : u32(size_bytes)
  return Buffer.concat([u32(0x08074b50), u32(sum), size, size])
}

function centralHeader({ encoded, is_big, modified_at, size_bytes, offset }: Placed, sum: number): Buffer {
  const isFar = offset >= MAX_32
  const large = [...(is_big ? [size_bytes, size_bytes] : []), ...(isFar ? [offset] : [])]
  const extra = large.length > 0 ? zip64Extra(large) : Buffer.alloc(0)
  const version = u16(large.length > 0 ? VERSION.zip64 : VERSION.plain)
  const size = u32(is_big ? MAX_32 : size_bytes)
  return Buffer.concat([
    ...[u32(0x02014b50), version, version, u16(FLAGS), u16(0), dosTime(modified_at), u32(sum), size, size],
    ...[u16(encoded.length), u16(extra.length), u16(0), u16(0), u16(0), u32(0), u32(isFar ? MAX_32 : offset)],
    ...[encoded, extra],
  ])
}

/** `count` is below 65,535. */
function endOf({ count, offset, size }: { count: number; offset: number; size: number }): Buffer {
  const version = u16(VERSION.zip64)
  const zip64 = [
    ...[u32(0x06064b50), u64(44), version, version, u32(0), u32(0), u64(count), u64(count), u64(size), u64(offset)],
    ...[u32(0x07064b50), u32(0), u64(offset + size), u32(1)],
  ]
  return Buffer.concat([
    ...(offset >= MAX_32 ? zip64 : []),
    ...[u32(0x06054b50), u16(0), u16(0), u16(count), u16(count), u32(size), u32(Math.min(offset, MAX_32)), u16(0)],
  ])
}

function zip64Extra(values: readonly number[]): Buffer {
  return Buffer.concat([u16(1), u16(values.length * 8), ...values.map(u64)])
}

/** To two seconds, of UTC. */
function dosTime(at: Date): Buffer {
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1)
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate()
  return Buffer.concat([u16(time), u16(date)])
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
