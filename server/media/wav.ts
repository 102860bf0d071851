/** The header of a WAV file whose `data_bytes` of 16-bit samples follow, `channels` interleaved, `rate` of each a second. */
export function wavHeader(data_bytes: number, { rate, channels }: { rate: number; channels: number }): Buffer {
  const header = Buffer.alloc(WAV_HEADER_BYTES)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(WAV_HEADER_BYTES - 8 + data_bytes, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(PCM, 20)
  header.writeUInt16LE(channels, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE(rate * channels * SAMPLE_BYTES, 28)
  header.writeUInt16LE(channels * SAMPLE_BYTES, 32)
  header.writeUInt16LE(SAMPLE_BYTES * 8, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(data_bytes, 40)
  return header
}

const WAV_HEADER_BYTES = 44
/** Uncompressed samples. */
const PCM = 1
const SAMPLE_BYTES = 2
