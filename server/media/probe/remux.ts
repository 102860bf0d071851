import {
  AdtsOutputFormat,
  EncodedAudioPacketSource,
  type EncodedPacket,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  FilePathTarget,
  FlacOutputFormat,
  type InputAudioTrack,
  type InputTrack,
  type InputVideoTrack,
  MovOutputFormat,
  Mp3OutputFormat,
  Mp4OutputFormat,
  OggOutputFormat,
  Output,
  type OutputFormat,
  WavOutputFormat,
  WebMOutputFormat,
} from 'mediabunny'
import type { Shown } from './boxes.ts'
import { openStreams } from './streams.ts'

const FORMATS: Record<string, () => OutputFormat> = {
  'video/mp4': () => new Mp4OutputFormat({ fastStart: 'in-memory' }),
  'audio/mp4': () => new Mp4OutputFormat({ fastStart: 'in-memory' }),
  'video/quicktime': () => new MovOutputFormat({ fastStart: 'in-memory' }),
  'video/webm': () => new WebMOutputFormat(),
  'audio/webm': () => new WebMOutputFormat(),
  'audio/mpeg': () => new Mp3OutputFormat(),
  'audio/wav': () => new WavOutputFormat(),
  'audio/flac': () => new FlacOutputFormat(),
  'audio/ogg': () => new OggOutputFormat(),
  'audio/aac': () => new AdtsOutputFormat(),
}

/** Packets behind the end of what is shown among which one before it may still follow: more than any encoder reorders. */
const REORDERED_MAX = 32
/** Sound packets before what is shown that the decoder needs to reach it. */
const PRIMING_PACKETS = 2

/**
 * Writes to `to` what players show of a clip or sound, without encoding it again: one picture track, one sound track, nothing after the
 * end of what is shown, and before its start only what decoding it takes, from the key frame on. Tags and attached pictures are left out.
 * Throws when the format cannot hold one of the tracks.
 */
export async function remux(
  path: string,
  to: string,
  { media_type, kind }: { media_type: string; kind: 'video' | 'audio' },
): Promise<void> {
  const streams = await openStreams(path)
  const format = FORMATS[media_type]
  if (format === undefined) throw new Error(`no writer for ${media_type}`)
  const output = new Output({ format: format(), target: new FilePathTarget(to) })
  try {
    const video = kind === 'video' ? streams.video : undefined
    const { audio, shown } = streams
    const copies = [
      ...(video ? [await addVideo(output, video, shown.get(video.id))] : []),
      ...(audio ? [await addAudio(output, audio, shown.get(audio.id))] : []),
    ]
    await output.start()
    // At once: the writer interleaves them, and waits for the one that is behind.
    await Promise.all(copies.map((copy) => copy()))
    await output.finalize()
  } catch (error) {
    await output.cancel().catch(() => undefined)
    throw error
  } finally {
    streams.input.dispose()
  }
}

type Copy = () => Promise<void>

async function addVideo(output: Output, track: InputVideoTrack, shown: Shown | undefined): Promise<Copy> {
  const codec = await track.getCodec()
  if (codec === null) throw new Error('a picture track of an unknown codec')
  const source = new EncodedVideoPacketSource(codec)
  output.addVideoTrack(
    source,
    output.format.supportsVideoTransformationMetadata
      ? { transformationMatrix: await track.getTransformationMatrix() }
      : {},
  )
  const meta = { decoderConfig: (await track.getDecoderConfig()) ?? undefined }
  return async () => {
    for await (const packet of shownPackets(track, shown, await firstVideoPacket(track, shown)))
      await source.add(packet, meta)
    source.close()
  }
}

async function addAudio(output: Output, track: InputAudioTrack, shown: Shown | undefined): Promise<Copy> {
  const codec = await track.getCodec()
  if (codec === null) throw new Error('a sound track of an unknown codec')
  const source = new EncodedAudioPacketSource(codec)
  output.addAudioTrack(source)
  const meta = { decoderConfig: (await track.getDecoderConfig()) ?? undefined }
  return async () => {
    for await (const packet of shownPackets(track, shown, await firstAudioPacket(track, shown)))
      await source.add(packet, meta)
    source.close()
  }
}

async function firstVideoPacket(track: InputTrack, shown: Shown | undefined): Promise<EncodedPacket | undefined> {
  if (shown === undefined) return undefined
  return (await new EncodedPacketSink(track).getKeyPacket(shown.start, { verifyKeyPackets: true })) ?? undefined
}

async function firstAudioPacket(track: InputTrack, shown: Shown | undefined): Promise<EncodedPacket | undefined> {
  if (shown === undefined) return undefined
  const sink = new EncodedPacketSink(track)
  const at = await sink.getPacket(shown.start, { metadataOnly: true })
  if (at === null) return undefined
  return (await sink.getPacket(at.timestamp - PRIMING_PACKETS * at.duration)) ?? undefined
}

/** The packets from `first`, or the start, to the last that is shown, in the order of decoding. */
async function* shownPackets(
  track: InputTrack,
  shown: Shown | undefined,
  first: EncodedPacket | undefined,
): AsyncGenerator<EncodedPacket> {
  let behind: EncodedPacket[] = []
  for await (const packet of new EncodedPacketSink(track).packets(first)) {
    if (packet.timestamp >= (shown?.end ?? Number.POSITIVE_INFINITY)) {
      behind.push(packet)
      if (behind.length > REORDERED_MAX) return
      continue
    }
    // Later in time, but earlier in the order of decoding: this packet may refer to them.
    yield* behind
    behind = []
    yield packet
  }
}
