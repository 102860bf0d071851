import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { asSentence } from '../../platform/text.ts'

/** `wasm` is FFmpeg as WebAssembly inside the child; `native` a program of the machine. */
export type FfmpegRunner = { kind: 'wasm' } | { kind: 'native'; path: string }

/** FFmpeg cannot run or failed. `log` holds its last lines. */
export class FfmpegError extends Error {
  override name = 'FfmpegError'
  readonly fault: 'unavailable' | 'failed' | 'died' | 'time_limit'
  readonly log: readonly string[]

  constructor(fault: FfmpegError['fault'], message: string, log: readonly string[] = []) {
    super(message)
    this.fault = fault
    this.log = log
  }
}

/** Below 4.3 there is no `xfade`. */
const VERSION_MIN = 4.3

// What the machine has is the same for the whole process: looked up once for each setting.
const chosen = new Map<string, Promise<FfmpegRunner>>()

/**
 * The FFmpeg this machine has: `FFMPEG_PATH`, else `ffmpeg` on PATH when it is at least 4.3 and encodes H.264, else `@ffmpeg/core`.
 * `force` (or KINORA_FFMPEG=wasm|native) picks one of the two. Throws FfmpegError `unavailable`, which names what to install.
 */
export function chooseRunner(force?: FfmpegRunner['kind']): Promise<FfmpegRunner> {
  const wanted = force ?? process.env.KINORA_FFMPEG ?? 'any'
  const key = [wanted, process.env.FFMPEG_PATH, process.env.PATH].join('\n')
  let choice = chosen.get(key)
  if (choice === undefined) {
    choice = decide(wanted)
    chosen.set(key, choice)
    choice.catch(() => chosen.delete(key))
  }
  return choice
}

async function decide(wanted: string): Promise<FfmpegRunner> {
  if (!['any', 'wasm', 'native'].includes(wanted)) {
    throw new FfmpegError('unavailable', `KINORA_FFMPEG must be "wasm" or "native", not "${wanted}".`)
  }
  const path = process.env.FFMPEG_PATH
  if (wanted !== 'wasm') {
    const reason = await unusable(path || 'ffmpeg')
    if (reason === null) return { kind: 'native', path: path || 'ffmpeg' }
    if (path) throw new FfmpegError('unavailable', asSentence(`FFMPEG_PATH is set, but ${reason}`))
    if (wanted === 'native') throw new FfmpegError('unavailable', asSentence(`KINORA_FFMPEG=native, but ${reason}`))
  }
  if (hasCore()) return { kind: 'wasm' }
  throw new FfmpegError(
    'unavailable',
    'No FFmpeg: install the optional dependency @ffmpeg/core (npm ci without --omit=optional), ' +
      'put ffmpeg 4.3 or newer with libx264 on PATH, or set FFMPEG_PATH.',
  )
}

/** Why the program cannot be used, or null. */
async function unusable(path: string): Promise<string | null> {
  const run = promisify(execFile)
  try {
    const { stdout: about } = await run(path, ['-hide_banner', '-version'], { timeout: 5000 })
    const version = Number(/version n?(\d+\.\d+)/.exec(about)?.[1] ?? (/version N-/.test(about) ? VERSION_MIN : 0))
    if (version < VERSION_MIN) return `"${path}" is older than ${VERSION_MIN}`
    const { stdout: encoders } = await run(path, ['-hide_banner', '-encoders'], { timeout: 5000 })
    return / libx264 /.test(encoders) ? null : `"${path}" has no libx264`
  } catch {
    return `"${path}" does not run`
  }
}

function hasCore(): boolean {
  try {
    import.meta.resolve('@ffmpeg/core')
    return true
  } catch {
    return false
  }
}
