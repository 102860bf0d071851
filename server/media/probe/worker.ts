import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import {
  ADTS,
  FilePathSource,
  FLAC,
  Input,
  type InputTrack,
  type InputVideoTrack,
  MATROSKA,
  MP3,
  MP4,
  OGG,
  QTFF,
  WAVE,
  WEBM,
} from 'mediabunny'
import sharp from 'sharp'
import { IMAGE_PIXELS_MAX, type OutputFacts, type ProbeReply, type ProbeResult, type ProbeTask } from './probe.ts'
import { type RecognizedType, recognizeBytes, recognizeType } from './recognize.ts'

/** The worker of `probeFile`: answers each task with one reply and never throws. */
parentPort?.on('message', async (task: ProbeTask) => {
  const reply = await probe(task).catch((error: unknown): ProbeReply => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { missing: true }
    const message = error instanceof Error ? error.message : String(error)
    if (/pixel limit/i.test(message)) return { fault: 'too_large', message: 'The image has too many pixels.' }
    return { fault: 'unreadable', message: 'The file is damaged or incomplete.' }
  })
  parentPort?.postMessage(reply)
})

async function probe(task: ProbeTask): Promise<ProbeReply> {
  const { media_type, family } = await recognizeFile(task.path)
  if (family === null)
    return { fault: 'unrecognized', message: 'The file is not a supported image, video or audio file.' }
  if (task.whole && !isWholeMp4(task.path))
    return { fault: 'unreadable', message: 'The clip ends before the length it announces.' }
  if (family !== 'image') return probeTracks(task, media_type)
  return { media_type, result: await probeImage(task.path), tracks: { video_seconds: [], audio_seconds: [] } }
}

/** As `recognizeType`; an MP4 names its type in its first bytes, which are read at once instead of by one asynchronous read after another. */
async function recognizeFile(path: string): Promise<RecognizedType> {
  const head = Buffer.alloc(64)
  const file = openSync(path, 'r')
  try {
    readSync(file, head, 0, head.length, 0)
  } finally {
    closeSync(file)
  }
  return head.toString('latin1', 4, 8) === 'ftyp' ? recognizeBytes(head) : recognizeType(path)
}

async function probeImage(path: string): Promise<ProbeResult> {
  const { autoOrient } = await sharp(path, { limitInputPixels: IMAGE_PIXELS_MAX }).metadata()
  return {
    kind: 'image',
    width: autoOrient.width,
    height: autoOrient.height,
    duration_seconds: null,
    video_codec: null,
    audio_codec: null,
  }
}

async function probeTracks(task: ProbeTask, media_type: string): Promise<ProbeReply> {
  const formats = [MP4, QTFF, WEBM, MATROSKA, MP3, WAVE, FLAC, OGG, ADTS]
  const input = new Input({ source: new FilePathSource(task.path), formats })
  try {
    const tracks = await input.getTracks()
    const video = tracks.find((track) => track.isVideoTrack())
    const audio = tracks.find((track) => track.isAudioTrack())
    const shown = task.kind === 'audio' && audio !== undefined ? undefined : video
    if (shown === undefined && audio === undefined)
      return { fault: 'unreadable', message: 'The file has no usable track.' }
    const duration_seconds = await longest([shown, audio])
    if (!(duration_seconds > 0)) return { fault: 'unreadable', message: 'The file has no duration.' }
    return {
      media_type,
      result: {
        kind: shown ? 'video' : 'audio',
        width: shown ? await shown.getDisplayWidth() : null,
        height: shown ? await shown.getDisplayHeight() : null,
        duration_seconds,
        video_codec: shown ? await shown.getCodec() : null,
        audio_codec: audio ? await audio.getCodec() : null,
      },
      tracks: {
        video_seconds: await secondsOf(tracks.filter((track) => track.isVideoTrack())),
        audio_seconds: await secondsOf(tracks.filter((track) => track.isAudioTrack())),
      },
      ...(shown && task.whole && (await outputFacts(input, shown))),
    }
  } finally {
    input.dispose()
  }
}

/** Profiles of H.264 with 8 bits and 4:2:0, which every browser plays. Source: https://www.itu.int/rec/T-REC-H.264 annex A. */
const PLAYED_PROFILES = new Set(['42', '4d', '58', '64'])
/** How the program that wrote a file names itself. */
const TOOL_TAG = /^(©too|encoder|major_brand|minor_version|compatible_brands)$/
const TOOL_CHARACTERS_MAX = 80

async function outputFacts(input: Input, shown: InputVideoTrack): Promise<OutputFacts> {
  const parameters = (await shown.getCodecParameterString()) ?? ''
  const { raw = {} } = await input.getMetadataTags()
  return {
    plays_everywhere: PLAYED_PROFILES.has(/^avc[13]\.(..)/i.exec(parameters)?.[1]?.toLowerCase() ?? ''),
    has_tags: Object.entries(raw).some(
      ([name, value]) => !(TOOL_TAG.test(name) && typeof value === 'string' && value.length <= TOOL_CHARACTERS_MAX),
    ),
  }
}

async function longest(tracks: ReadonlyArray<InputTrack | undefined>): Promise<number> {
  const present = tracks.filter((track) => track !== undefined)
  return Math.max(...(await secondsOf(present)))
}

function secondsOf(tracks: readonly InputTrack[]): Promise<number[]> {
  return Promise.all(tracks.map((track) => track.computeDuration()))
}

/**
 * False when an MP4 ends before the boxes it announces: the head of a truncated download is otherwise valid. True for a file that does
 * not begin like an MP4. Reads synchronously: not for the main thread.
 * Source: ISO/IEC 14496-12, section 4.2, https://www.iso.org/standard/83102.html
 */
function isWholeMp4(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const head = Buffer.alloc(16)
    for (let at = 0; at < size; ) {
      const bytesRead = readSync(file, head, 0, 16, at)
      if (at === 0 && head.toString('latin1', 4, 8) !== 'ftyp') return true
      if (bytesRead < 8) return false
      const length = boxLength(head, bytesRead)
      if (length === 0) return true
      if (length < 8 || at + length > size) return false
      at += length
    }
    return true
  } finally {
    closeSync(file)
  }
}

/** 0 for a box that reaches to the end of the file. */
function boxLength(head: Buffer, bytesRead: number): number {
  const length = head.readUInt32BE(0)
  if (length !== 1) return length
  return bytesRead < 16 ? -1 : Number(head.readBigUInt64BE(8))
}
