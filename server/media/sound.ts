import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeAll } from './ffmpeg/decode-all.ts'
import { type MediaWork, runFfmpeg } from './ffmpeg/run.ts'
import { ProbeError, type ProbeOptions, probeMedia, probeTracks } from './probe/probe.ts'
import { withScratch } from './scratch.ts'

const EXTRACT_SECONDS = 60
/** More tracks than any camera writes. */
const TRACKS_MAX = 4
const RATE_HZ = 16_000
/** Of a 16-bit mono WAV, its header aside. */
const BYTES_PER_SECOND = RATE_HZ * 2

/** Encoders pad the ends of a sound, and containers round: so much of it may be missing. */
const MISSING = { ratio: 0.05, seconds: 0.3 }

/** The number of sound tracks of a clip. Reads headers only. Throws ProbeError. */
export async function countSounds(path: string, kind: 'video' | 'audio', options?: ProbeOptions): Promise<number> {
  return (await probeTracks(path, kind, options)).audio_seconds.length
}

/**
 * Every sound track of a file as a mono WAV of 16 kHz, all of it, what an edit list or a delay hides included: none for a silent clip. One
 * packet that cannot be decoded, and a track that ends before the length it announces or goes on far beyond it, make it unusable.
 * Throws ProbeError, FfmpegError or ChildrenBusy.
 */
export async function extractSounds(
  path: string,
  kind: 'video' | 'audio',
  { work_dir, signal, owner }: MediaWork = {},
): Promise<Uint8Array[]> {
  const { spans, demuxer } = await probeMedia(path, kind, { owner, signal })
  if (spans.audio.length === 0) return []
  if (spans.audio.length > TRACKS_MAX) throw new ProbeError('unreadable', 'The file has too many sound tracks.')
  return await withScratch(work_dir, async (dir) => {
    const names = spans.audio.map((_, index) => `sound-${index}.wav`)
    await runFfmpeg(
      {
        inputs: { clip: path },
        args: [
          '-xerror',
          ...decodeAll(demuxer),
          '-i',
          'clip',
          ...names.flatMap((name, index) => trackArgs(index, name, mostSeconds(spans.audio[index]!.seconds))),
        ],
        outputs: Object.fromEntries(names.map((name) => [name, join(dir, name)])),
      },
      { owner, signal, kind: 'moderation', time_limit_seconds: EXTRACT_SECONDS, work_dir: dir },
    )
    const sounds = await Promise.all(names.map((name) => readFile(join(dir, name))))
    for (const [index, sound] of sounds.entries()) requireWhole(sound, spans.audio[index]!.seconds)
    return sounds
  })
}

function trackArgs(index: number, name: string, seconds_max: number): string[] {
  const format = ['-ac', '1', '-ar', String(RATE_HZ), '-c:a', 'pcm_s16le']
  return ['-map', `0:a:${index}`, '-vn', ...format, '-t', String(seconds_max), name]
}

/** A sound that goes on so far beyond the length it announces is not decoded to its end: 25 KB can be three hours. */
function mostSeconds(promised_seconds: number): number {
  return 2 * promised_seconds + 60
}

/** Seconds of a sound that `extractSounds` returned. */
export function wavSeconds(wav: Uint8Array): number {
  return wav.length / BYTES_PER_SECOND
}

function requireWhole(wav: Uint8Array, promised_seconds: number): void {
  const seconds = wavSeconds(wav)
  if (seconds >= mostSeconds(promised_seconds) - MISSING.seconds)
    throw new ProbeError('unreadable', 'The sound goes on far beyond the length it announces.')
  if (seconds < promised_seconds * (1 - MISSING.ratio) - MISSING.seconds)
    throw new ProbeError('ends_early', 'The sound ends before the length it announces.')
}
