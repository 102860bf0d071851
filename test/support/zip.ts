export type ZippedFile = { name: string; size: number; offset: number; crc: number; is_zip64: boolean }

/** What the directory at the end of an archive says. `tail`: its last bytes, which begin at `from`. */
export function readDirectory(tail: Buffer, from = 0): ZippedFile[] {
  const end = tail.lastIndexOf(Buffer.from('PK\x05\x06'))
  let count = tail.readUInt16LE(end + 10)
  let start = tail.readUInt32LE(end + 16)
  if (start === 0xffff_ffff) {
    const zip64 = Number(tail.readBigUInt64LE(end - 20 + 8)) - from
    count = Number(tail.readBigUInt64LE(zip64 + 32))
    start = Number(tail.readBigUInt64LE(zip64 + 48))
  }
  const files: ZippedFile[] = []
  for (let at = start - from; files.length < count; ) {
    if (tail.readUInt32LE(at) !== 0x02014b50) throw new Error(`no entry of the directory at ${at + from}`)
    const [named, more] = [tail.readUInt16LE(at + 28), tail.readUInt16LE(at + 30)]
    const extra = tail.subarray(at + 46 + named, at + 46 + named + more)
    let [size, offset] = [tail.readUInt32LE(at + 24), tail.readUInt32LE(at + 42)]
    if (offset === 0xffff_ffff) offset = Number(extra.readBigUInt64LE(size === 0xffff_ffff ? 20 : 4))
    if (size === 0xffff_ffff) size = Number(extra.readBigUInt64LE(4))
    const name = tail.subarray(at + 46, at + 46 + named).toString()
    files.push({ name, size, offset, crc: tail.readUInt32LE(at + 16), is_zip64: more > 0 })
    at += 46 + named + more
  }
  return files
}

/** The stored bytes of each file of an archive, by its name. */
export function unzip(archive: Buffer): Map<string, Buffer> {
  const files = readDirectory(archive).map(({ name, size, offset }) => {
    const start = offset + 30 + archive.readUInt16LE(offset + 26) + archive.readUInt16LE(offset + 28)
    return [name, archive.subarray(start, start + size)] as const
  })
  return new Map(files)
}
