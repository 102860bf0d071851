import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type MediaWork, runFfmpeg } from './ffmpeg/run.ts'
import { ProbeError, type ProbeOptions, probeTracks } from './probe/probe.ts'
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
 * Every sound track of a file as a mono WAV of 16 kHz, decoded to its end: none for a silent clip. One packet that cannot be decoded,
 * and a track that ends before the length it announces, make it unusable.
 * Throws ProbeError, FfmpegError or ChildrenBusy.
 */
export async function extractSounds(
  path: string,
  kind: 'video' | 'audio',
  { work_dir, signal, owner }: MediaWork = {},
): Promise<Uint8Array[]> {
  const { audio_seconds } = await probeTracks(path, kind, { owner, signal })
  if (audio_seconds.length === 0) return []
  if (audio_seconds.length > TRACKS_MAX) throw new ProbeError('unreadable', 'The file has too many sound tracks.')
  return await withScratch(work_dir, async (dir) => {
    const names = audio_seconds.map((_, index) => `sound-${index}.wav`)
    await runFfmpeg(
      {
        inputs: { clip: path },
        args: ['-xerror', '-i', 'clip', ...names.flatMap((name, index) => trackArgs(index, name))],
        outputs: Object.fromEntries(names.map((name) => [name, join(dir, name)])),
      },
      { owner, signal, kind: 'moderation', time_limit_seconds: EXTRACT_SECONDS, work_dir: dir },
    )
    const sounds = await Promise.all(names.map(async (name) => new Uint8Array(await readFile(join(dir, name)))))
    for (const [index, sound] of sounds.entries()) requireWhole(sound, audio_seconds[index]!)
    return sounds
  })
}

function trackArgs(index: number, name: string): string[] {
  return ['-map', `0:a:${index}`, '-vn', '-ac', '1', '-ar', String(RATE_HZ), '-c:a', 'pcm_s16le', name]
}

function requireWhole(wav: Uint8Array, promised_seconds: number): void {
  const seconds = wav.length / BYTES_PER_SECOND
  if (seconds < promised_seconds * (1 - MISSING.ratio) - MISSING.seconds)
    throw new ProbeError('unreadable', 'The sound ends before the length it announces.')
}
