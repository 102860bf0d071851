import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import type { Input, InputTrack, InputVideoTrack } from 'mediabunny'
import sharp from 'sharp'
import { decodable, hasTooManyFrames, PICTURE } from '../pictures.ts'
import { isWholeMp4 } from './boxes.ts'
import type {
  CopyReason,
  InspectTask,
  OutputFacts,
  Probed,
  ProbeFailure,
  ProbeResult,
  ProbeTask,
  UploadFacts,
  WorkerTask,
} from './probe.ts'
import {
  announcesTooMuch,
  holdsClip,
  type RecognizedType,
  recognizeBytes,
  recognizeType,
  soundTypeOf,
  zerosBeforeMp3,
} from './recognize.ts'
import { remux } from './remux.ts'
import { openStreams, reasonsToCopy, spanOf } from './streams.ts'

/** The worker of `probeFile`: answers each task with one reply and never throws. */
parentPort?.on('message', async (task: WorkerTask) => {
  const reply = await carryOut(task).catch((error: unknown): ProbeFailure => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { missing: true }
    const message = error instanceof Error ? error.message : String(error)
    if (message === TOO_MANY_FRAMES) return { fault: 'too_many_frames', message }
    if (/pixel limit/i.test(message)) return { fault: 'too_large', message: 'The image has too many pixels.' }
    return { fault: 'unreadable', message: 'The file is damaged or incomplete.' }
  })
  parentPort?.postMessage(reply)
})

async function carryOut(task: WorkerTask): Promise<unknown> {
  if (task.do === 'inspect') return inspect(task)
  if (task.do === 'probe') return probe(task)
  await remux(task.path, task.to, task)
  return {}
}

async function probe(task: ProbeTask): Promise<Probed | ProbeFailure> {
  const { media_type, family } = await recognizeFile(task.path)
  if (family === null)
    return { fault: 'unrecognized', message: 'The file is not a supported image, video or audio file.' }
  if (task.whole && !isWholeMp4(task.path))
    return { fault: 'unreadable', message: 'The clip ends before the length it announces.' }
  if (family !== 'image') return probeTracks(task, media_type)
  const none = { tracks: { video_seconds: [], audio_seconds: [] }, spans: { video: [], audio: [] }, demuxer: null }
  return { media_type, result: (await probeImage(task.path)).result, ...none }
}

/** As `recognizeType`; an MP4 names its type in its first bytes, which are read at once instead of by one asynchronous read after another. */
async function recognizeFile(path: string): Promise<RecognizedType> {
  const head = headOf(path)
  return head.toString('latin1', 4, 8) === 'ftyp' ? recognizeBytes(head) : recognizeType(path)
}

function headOf(path: string): Buffer {
  const head = Buffer.alloc(64)
  const file = openSync(path, 'r')
  try {
    readSync(file, head, 0, head.length, 0)
  } finally {
    closeSync(file)
  }
  return head
}

/**
 * All but a sequential JPEG or PNG is decoded as a whole, up to 6 bytes for each pixel: a larger one is left to the child process that a job
 * starts.
 */
const WHOLE_PIXELS_MAX = 16_000_000

type Picture = { result: ProbeResult; isTurned: boolean; isDecoded: boolean }

/** Throws when a GIF or WebP has too many frames. The decoder's time is not of this thread, so no limit would end it. */
function requireFewFrames(path: string): void {
  if (/^GIF8|^RIFF....WEBP/s.test(headOf(path).toString('latin1')) && hasTooManyFrames(readFileSync(path)))
    throw new Error(TOO_MANY_FRAMES)
}

const TOO_MANY_FRAMES = 'The animation has too many frames.'

async function probeImage(path: string): Promise<Picture> {
  requireFewFrames(path)
  const { autoOrient, orientation = 1, pages = 1, format, isProgressive } = await sharp(path, PICTURE).metadata()
  const { width, height } = autoOrient
  const result: ProbeResult = {
    kind: 'image',
    width,
    height,
    duration_seconds: null,
    video_codec: null,
    audio_codec: null,
  }
  // Viewers do not turn an animation, whose frames the tag would have to turn one by one.
  const isTurned = orientation > 1 && pages === 1
  const isSequential = (format === 'jpeg' || format === 'png') && !isProgressive
  return { result, isTurned, isDecoded: isSequential || width * height <= WHOLE_PIXELS_MAX }
}

async function probeTracks(task: ProbeTask, media_type: string): Promise<Probed | ProbeFailure> {
  const streams = await openStreams(task.path)
  const { input, tracks, audio, demuxer, shown } = streams
  try {
    const video = task.kind === 'audio' && audio !== undefined ? undefined : streams.video
    if (video === undefined && audio === undefined)
      return { fault: 'unreadable', message: 'The file has no usable track.' }
    const duration_seconds = await longest([video, audio])
    if (!(duration_seconds > 0)) return { fault: 'unreadable', message: 'The file has no duration.' }
    const pictures = tracks.filter((track) => track.isVideoTrack())
    const sounds = tracks.filter((track) => track.isAudioTrack())
    const spansOf = (some: readonly InputTrack[]) => Promise.all(some.map((each) => spanOf(each, shown.get(each.id))))
    return {
      media_type,
      result: {
        kind: video ? 'video' : 'audio',
        width: video ? await video.getDisplayWidth() : null,
        height: video ? await video.getDisplayHeight() : null,
        duration_seconds,
        video_codec: video ? await video.getCodec() : null,
        audio_codec: audio ? await audio.getCodec() : null,
      },
      tracks: { video_seconds: await secondsOf(pictures), audio_seconds: await secondsOf(sounds) },
      spans: { video: await spansOf(pictures), audio: await spansOf(sounds) },
      demuxer,
      ...(video && task.whole && (await outputFacts(input, video))),
    }
  } finally {
    input.dispose()
  }
}

async function inspect({ path, media_type, kind }: InspectTask): Promise<UploadFacts> {
  if (kind === 'image') return inspectPicture(path, media_type)
  const streams = await openStreams(path)
  try {
    const { tracks, video, audio } = streams
    if (tracks.length === 0) throw new Error('no track')
    const isSound = media_type.startsWith('audio/') || !tracks.some((track) => track.isVideoTrack())
    const copy_because = await reasonsToCopy(path, streams, isSound ? [audio] : [video, audio])
    if (media_type === 'audio/mpeg' && (await zerosBeforeMp3(path))) copy_because.push('leading_zeros')
    if (media_type === 'audio/wav' && (await announcesTooMuch(path))) copy_because.push('wrong_size')
    const type = isSound ? soundTypeOf(media_type) : media_type
    return { media_type: type, family: isSound ? 'audio' : 'video', picture: null, copy_because }
  } finally {
    streams.input.dispose()
  }
}

async function inspectPicture(path: string, media_type: string): Promise<UploadFacts> {
  const { result, isTurned, isDecoded } = await probeImage(path)
  const isJpeg = media_type === 'image/jpeg'
  const copy_because: CopyReason[] = isTurned ? ['turned'] : []
  if (isJpeg && (await holdsClip(path))) copy_because.push('attached_clip')
  if (isDecoded && !isJpeg) await decode(path, PICTURE.failOn)
  else if (isDecoded && (await needsRepair(path))) copy_because.push('repaired')
  return { media_type, family: 'image', picture: result, copy_because }
}

/** Decodes a picture to its end, of an animation the first frame; a JPEG at an eighth of its size. Throws for one that cannot be decoded. */
function decode(source: string | Buffer, failOn: 'warning' | 'error'): Promise<Buffer> {
  return sharp(source, { ...PICTURE, failOn })
    .resize({ width: 16, height: 16, fit: 'fill' })
    .raw()
    .toBuffer()
}

/** Whether a JPEG that viewers show is not well formed. Throws as `decode`. */
async function needsRepair(path: string): Promise<boolean> {
  try {
    await decode(path, 'warning')
    return false
  } catch {
    // Only the end mark may be missing: without part of the picture there would be warnings.
    await decode(path, 'error').catch(async () => decode(await decodable(path), 'warning'))
    return true
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
