import { closeSync, openSync, readSync } from 'node:fs'
import {
  ADTS,
  FilePathSource,
  FLAC,
  Input,
  type InputAudioTrack,
  type InputFormat,
  type InputTrack,
  type InputVideoTrack,
  Logging,
  LogLevel,
  MATROSKA,
  MP3,
  MP4,
  OGG,
  QTFF,
  WAVE,
  WEBM,
} from 'mediabunny'
import { type Shown, shownByEditLists } from './boxes.ts'
import type { CopyReason, TrackSpan } from './probe.ts'

// What is odd about a customer's file is no line of the service's log.
Logging.level = LogLevel.Silent

/** FFmpeg's reader of each container: what was inspected as one format is decoded as that format. */
const DEMUXERS = new Map<InputFormat, string>([
  [MP4, 'mov'],
  [QTFF, 'mov'],
  [WEBM, 'matroska'],
  [MATROSKA, 'matroska'],
  [MP3, 'mp3'],
  [WAVE, 'wav'],
  [FLAC, 'flac'],
  [OGG, 'ogg'],
  [ADTS, 'aac'],
])

/** Codecs whose encoders put silence before and after the sound. */
const PADDED = new Set(['aac', 'mp3', 'opus', 'vorbis', 'ac3', 'eac3'])
/** Whole packets of it: at most two before the sound (AAC has 2,112 samples) and one that fills up the last. */
const PADDING_PACKETS = 3

/** Pictures outside of what is shown for less than this are rounding: the length limit allows as much. */
const HIDDEN_SECONDS = 0.05

/** The tracks of a file, and the two that are used: the first of each kind that can be decoded. */
export type Streams = {
  input: Input
  demuxer: string | null
  tracks: readonly InputTrack[]
  video: InputVideoTrack | undefined
  audio: InputAudioTrack | undefined
  /** By the id of the track. */
  shown: ReadonlyMap<number, Shown>
}

/** The caller disposes of `input`. Reads synchronously: not for the main thread. */
export async function openStreams(path: string): Promise<Streams> {
  const input = new Input({ source: new FilePathSource(path), formats: [...DEMUXERS.keys()] })
  try {
    const demuxer = DEMUXERS.get(await input.getFormat()) ?? null
    const tracks = await input.getTracks()
    const video = await firstDecodable(tracks.filter((track) => track.isVideoTrack()))
    const audio = await firstDecodable(tracks.filter((track) => track.isAudioTrack()))
    const shown = demuxer === 'mov' ? shownByEditLists(path) : new Map<number, Shown>()
    return { input, demuxer, tracks, video, audio, shown }
  } catch (error) {
    input.dispose()
    throw error
  }
}

/** A codec without a name is one that no FFmpeg decodes either: the spatial sound of a phone, beside its AAC. */
async function firstDecodable<T extends InputTrack>(tracks: readonly T[]): Promise<T | undefined> {
  for (const track of tracks) if ((await track.getCodec()) !== null) return track
  return tracks[0]
}

/** All packets of a track, those before and after what players show included. */
export async function spanOf(track: InputTrack, shown: Shown | undefined): Promise<TrackSpan> {
  const start = await track.getFirstTimestamp()
  const end = await track.computeDuration()
  const codec = await track.getCodec()
  const packet = PADDED.has(codec ?? '') ? await firstPacketSeconds(track) : 0
  const hidden = shown === undefined ? 0 : Math.max(0, shown.start - start) + Math.max(0, end - shown.end)
  return { seconds: end - start, padding_seconds: PADDING_PACKETS * packet, hidden_seconds: hidden }
}

async function firstPacketSeconds(track: InputTrack): Promise<number> {
  const { averagePacketRate } = await track.computePacketStats(PADDING_PACKETS)
  return averagePacketRate > 0 ? 1 / averagePacketRate : 0
}

/** Why a file holds more than players show of the tracks `used`; empty when it can be sent as it is. */
export async function reasonsToCopy(
  path: string,
  streams: Streams,
  used: ReadonlyArray<InputTrack | undefined>,
): Promise<CopyReason[]> {
  const reasons: CopyReason[] = []
  const { tracks, shown, input } = streams
  const isUnused = (track: InputTrack) => (track.isVideoTrack() || track.isAudioTrack()) && !used.includes(track)
  if (tracks.some(isUnused) || (streams.demuxer === 'ogg' && oggStreams(path) > tracks.length))
    reasons.push('extra_track')
  for (const track of used) {
    if (track === undefined) continue
    const { hidden_seconds, padding_seconds } = await spanOf(track, shown.get(track.id))
    if (hidden_seconds > padding_seconds + HIDDEN_SECONDS && !reasons.includes('hidden_part'))
      reasons.push('hidden_part')
  }
  const { images = [] } = await input.getMetadataTags().catch(() => ({ images: [] }))
  if (images.length > 0) reasons.push('attached_picture')
  return reasons
}

/** The streams that an Ogg file begins, those of unknown codecs included: pages marked as a first one. Source: RFC 3533, section 6 */
function oggStreams(path: string): number {
  const head = Buffer.alloc(OGG_HEAD_BYTES)
  const file = openSync(path, 'r')
  try {
    const length = readSync(file, head, 0, head.length, 0)
    let count = 0
    for (let at = head.indexOf('OggS'); at >= 0 && at + 6 <= length; at = head.indexOf('OggS', at + 4))
      if (head[at + 5]! & FIRST_PAGE) count++
    return count
  } finally {
    closeSync(file)
  }
}

/** All first pages come before anything else. */
const OGG_HEAD_BYTES = 65_536
const FIRST_PAGE = 2
