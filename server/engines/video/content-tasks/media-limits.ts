import { EngineError } from '../../engine-error.ts'
import type { RenderInput, RenderRequest } from '../contract.ts'

/** What an engine takes of one kind of media. Sides and `pixels` (width × height) are in pixels, the ratio is width ÷ height. */
type FileLimits = {
  types?: readonly string[]
  size_bytes_max?: number
  sides?: readonly [min: number, max: number]
  pixels?: readonly [min: number, max: number]
  ratio?: readonly [min: number, max: number]
  /** Of one file. */
  seconds_min?: number
  /** Of all files of the kind together. */
  seconds_max?: number
}

/** `sound_alone: false`: sound needs a picture or a clip beside it. */
export type MediaLimits = { image?: FileLimits; video?: FileLimits; audio?: FileLimits; sound_alone?: false }

/** Refuses media that a probe already shows to be outside the engine's limits. Throws EngineError `rejected` about the reference. */
export function refuseMedia({ inputs }: RenderRequest, limits: MediaLimits): void {
  for (const kind of ['image', 'video', 'audio'] as const) {
    const files = inputs.filter(({ probe }) => probe.kind === kind)
    const fault = faultIn(kind, files, limits[kind] ?? {})
    if (fault !== null) throw refuse(fault)
  }
  if (limits.sound_alone === false && inputs.length > 0 && inputs.every(({ probe }) => probe.kind === 'audio'))
    throw refuse('sound without a picture or a clip')
}

/** Muxers round: a clip of 15 s may read 15.05. */
const ROUNDING_SECONDS = 0.05

function faultIn(kind: RenderInput['probe']['kind'], files: readonly RenderInput[], limits: FileLimits): string | null {
  const { types, size_bytes_max = Number.POSITIVE_INFINITY, seconds_min = 0, seconds_max } = limits
  for (const { media_type, size_bytes, probe } of files) {
    if (types !== undefined && !types.includes(media_type)) return `${media_type}, only ${types.join(', ')}`
    if (size_bytes > size_bytes_max) return `${kind} files of more than ${size_bytes_max / 1024 ** 2} MiB`
    if (probe.duration_seconds !== null && probe.duration_seconds < seconds_min)
      return `${kind} files of less than ${seconds_min} seconds`
    const { width, height } = probe
    if (width !== null && height !== null && !fits({ width, height }, limits))
      return `a size of ${width}x${height} pixels`
  }
  const seconds = files.reduce((sum, { probe }) => sum + (probe.duration_seconds ?? 0), 0)
  return seconds_max !== undefined && seconds > seconds_max + ROUNDING_SECONDS
    ? `${kind} files of more than ${seconds_max} seconds in all`
    : null
}

function fits({ width, height }: { width: number; height: number }, { sides, pixels, ratio }: FileLimits): boolean {
  const within = (value: number, range: FileLimits['sides']) =>
    range === undefined || (value >= range[0] && value <= range[1])
  return (
    [width, height].every((side) => within(side, sides)) &&
    within(width * height, pixels) &&
    within(width / height, ratio)
  )
}

function refuse(what: string): EngineError {
  return new EngineError('rejected', `The engine does not take ${what}.`, {
    subject: 'reference_media',
    engine_code: 'unsupported',
  })
}
