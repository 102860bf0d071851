/**
 * The codewords of a QR code at error correction level M, byte mode: data, padding and Reed–Solomon codewords, interleaved.
 * Source: ISO/IEC 18004:2015, sections 7.4 to 7.6.
 */
export function qrCodewords(text: string): { version: number; codewords: Uint8Array } {
  const bytes = new TextEncoder().encode(text)
  const version = VERSIONS.findIndex((each) => bytes.length <= dataBytes(each) - headBytes(each.version)) + 1
  if (version === 0) throw new RangeError(`a QR code of level M and version 10 holds no ${bytes.length} bytes`)
  const layout = VERSIONS[version - 1]!
  return { version, codewords: interleave(dataOf(bytes, layout), layout) }
}

type Layout = { version: number; check_bytes: number; blocks: ReadonlyArray<{ count: number; data_bytes: number }> }

/** Blocks of each version at level M. Source: ISO/IEC 18004:2015, table 9. */
const VERSIONS: readonly Layout[] = [
  { version: 1, check_bytes: 10, blocks: [{ count: 1, data_bytes: 16 }] },
  { version: 2, check_bytes: 16, blocks: [{ count: 1, data_bytes: 28 }] },
  { version: 3, check_bytes: 26, blocks: [{ count: 1, data_bytes: 44 }] },
  { version: 4, check_bytes: 18, blocks: [{ count: 2, data_bytes: 32 }] },
  { version: 5, check_bytes: 24, blocks: [{ count: 2, data_bytes: 43 }] },
  { version: 6, check_bytes: 16, blocks: [{ count: 4, data_bytes: 27 }] },
  { version: 7, check_bytes: 18, blocks: [{ count: 4, data_bytes: 31 }] },
  {
    version: 8,
    check_bytes: 22,
    blocks: [
      { count: 2, data_bytes: 38 },
      { count: 2, data_bytes: 39 },
    ],
  },
  {
    version: 9,
    check_bytes: 22,
    blocks: [
      { count: 3, data_bytes: 36 },
      { count: 2, data_bytes: 37 },
    ],
  },
  {
    version: 10,
    check_bytes: 26,
    blocks: [
      { count: 4, data_bytes: 43 },
      { count: 1, data_bytes: 44 },
    ],
  },
]

function dataBytes({ blocks }: Layout): number {
  return blocks.reduce((sum, { count, data_bytes }) => sum + count * data_bytes, 0)
}

/** Mode and length before the text, 12 bits below version 10 and 20 from there, rounded up. */
function headBytes(version: number): number {
  return version < 10 ? 2 : 3
}

/** Mode, length, text and the padding that alternates to the end. */
function dataOf(bytes: Uint8Array, layout: Layout): Uint8Array {
  const data = new Uint8Array(dataBytes(layout))
  let at = 0
  const put = (value: number, bits: number) => {
    for (let bit = bits - 1; bit >= 0; bit--, at++) if ((value >> bit) & 1) data[at >> 3]! |= 0x80 >> (at & 7)
  }
  put(0b0100, 4)
  put(bytes.length, layout.version < 10 ? 8 : 16)
  for (const byte of bytes) put(byte, 8)
  put(0, Math.min(4, data.length * 8 - at))
  for (let i = Math.ceil(at / 8), pad = 0xec; i < data.length; i++, pad ^= 0xec ^ 0x11) data[i] = pad
  return data
}

function interleave(data: Uint8Array, { blocks, check_bytes }: Layout): Uint8Array {
  const parts: Uint8Array[] = []
  let from = 0
  for (const { count, data_bytes } of blocks) {
    for (let i = 0; i < count; i++, from += data_bytes) parts.push(data.subarray(from, from + data_bytes))
  }
  const checks = parts.map((part) => checkBytes(part, check_bytes))
  const longest = Math.max(...parts.map(({ length }) => length))
  return Uint8Array.from([...columns(parts, longest), ...columns(checks, check_bytes)])
}

function columns(parts: readonly Uint8Array[], length: number): number[] {
  const out: number[] = []
  for (let i = 0; i < length; i++) for (const part of parts) if (i < part.length) out.push(part[i]!)
  return out
}

/** The remainder of `data` by the generator polynomial of `count` check bytes, over GF(256) with 0x11d. */
export function checkBytes(data: Uint8Array, count: number): Uint8Array {
  const generator = generatorOf(count)
  const rest = new Uint8Array(count)
  for (const byte of data) {
    const factor = byte ^ rest[0]!
    rest.copyWithin(0, 1)
    rest[count - 1] = 0
    for (let i = 0; i < count; i++) rest[i]! ^= times(generator[i]!, factor)
  }
  return rest
}

/** Coefficients of the product of (x − 2^i), highest power first, without the leading 1. */
function generatorOf(count: number): Uint8Array {
  const generator = new Uint8Array(count)
  generator[count - 1] = 1
  let root = 1
  for (let i = 0; i < count; i++) {
    for (let j = 0; j < count; j++) {
      generator[j] = times(generator[j]!, root) ^ (j + 1 < count ? generator[j + 1]! : 0)
    }
    root = times(root, 2)
  }
  return generator
}

function times(a: number, b: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >> 7) * 0x11d)
    if ((b >> bit) & 1) product ^= a
  }
  return product
}
