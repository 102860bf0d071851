import { rm } from 'node:fs/promises'
import { SHORT_EDGE, type Size, sizeOfRatio } from './aspect.ts'
import { type MediaWork, runFfmpeg } from './ffmpeg/run.ts'
import { type MediaTracks, ProbeError, type ProbeResult, probeMedia } from './probe/probe.ts'

export type Repaired = {
  /** The given file, or a new one beside it which the caller removes. */
  path: string
  probe: ProbeResult
  tracks: MediaTracks
  changed: boolean
}

/** No tags and chapters of what was given. */
const BARE = ['-map_metadata', '-1', '-map_chapters', '-1']

/** A clip whose ratio differs less than this from the one ordered is cropped to it; another keeps its own. */
const RATIO_TOLERANCE = 0.05

/**
 * Makes what an engine delivered a clip as promised: MP4, H.264 that browsers play, short edge 768, AAC sound, and no tags: engines write
 * the prompt that they were given into them. What already is one is returned untouched. Streams that are right are copied, not encoded
 * again; missing sound becomes silence. `width` and `height` are the size ordered.
 * Throws ProbeError when there is no usable video, or only the head of one, FfmpegError when it cannot be decoded.
 */
export async function repairOutput(
  path: string,
  size: Size,
  options: MediaWork & { time_limit_seconds?: number } = {},
): Promise<Repaired> {
  const found = await probeMedia(path, 'video', { ...options, whole: true })
  const { result: probe, tracks, media_type } = found
  const isRightSize = Math.min(probe.width ?? 0, probe.height ?? 0) === SHORT_EDGE
  const isRightVideo = found.plays_everywhere === true && isRightSize
  if (media_type === 'video/mp4' && isRightVideo && probe.audio_codec === 'aac' && found.has_tags === false)
    return { path, probe, tracks, changed: false }
  const isSilent = tracks.audio_seconds.length === 0

  const repaired = `${path}.repaired.mp4`
  try {
    await runFfmpeg(
      {
        inputs: { given: path },
        args: [
          ...repairArgs(probe, { size, isRightVideo, isSilent }),
          ...BARE,
          '-movflags',
          '+faststart',
          'repaired.mp4',
        ],
        outputs: { 'repaired.mp4': repaired },
      },
      { ...options, time_limit_seconds: options.time_limit_seconds ?? 600 },
    )
    const { result: after, tracks: afterTracks } = await probeMedia(repaired, 'video', options)
    if (after.video_codec !== 'avc' || after.audio_codec !== 'aac')
      throw new ProbeError('unreadable', 'The output could not be made an MP4 with picture and sound.')
    return { path: repaired, probe: after, tracks: afterTracks, changed: true }
  } catch (error) {
    await rm(repaired, { force: true })
    throw error
  }
}

function repairArgs(
  probe: ProbeResult,
  { size, isRightVideo, isSilent }: { size: Size; isRightVideo: boolean; isSilent: boolean },
): string[] {
  const target = targetSize(probe, size)
  const video = isRightVideo
    ? ['-c:v', 'copy']
    : ['-vf', coverFilter(target), '-c:v', 'libx264', '-preset', 'veryfast', '-crf', '20', '-pix_fmt', 'yuv420p']
  if (isSilent) {
    const silence = ['-f', 'lavfi', '-i', 'anullsrc=r=48000:cl=stereo']
    return [
      '-i',
      'given',
      ...silence,
      '-map',
      '0:v:0',
      '-map',
      '1:a:0',
      ...video,
      '-c:a',
      'aac',
      '-b:a',
      '64k',
      '-shortest',
    ]
  }
  const audio = probe.audio_codec === 'aac' ? ['-c:a', 'copy'] : ['-c:a', 'aac', '-b:a', '160k', '-ac', '2']
  return ['-i', 'given', '-map', '0:v:0', '-map', '0:a:0', ...video, ...audio]
}

function targetSize(probe: ProbeResult, ordered: Size): Size {
  const ratio = (probe.width ?? ordered.width) / (probe.height ?? ordered.height)
  const isNear = Math.abs(ratio / (ordered.width / ordered.height) - 1) < RATIO_TOLERANCE
  return isNear ? ordered : sizeOfRatio(ratio)
}

function coverFilter({ width, height }: Size): string {
  return `scale=${width}:${height}:force_original_aspect_ratio=increase:flags=lanczos,crop=${width}:${height},setsar=1`
}
