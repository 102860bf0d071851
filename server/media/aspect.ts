import type { ProbeResult } from './probe/probe.ts'

export type Size = { width: number; height: number }

/** The part of a render input that decides `Auto`. */
export type SizedInput = {
  role: 'first_frame' | 'last_frame' | 'reference_image' | 'reference_video' | 'reference_audio'
  probe: ProbeResult
}

/** Short edge of every finished clip, in pixels. */
export const SHORT_EDGE = 768

/** 768p at each named ratio. 16:9 and 9:16 have the long edge of the even number nearest to 1365.3. */
const SIZES = {
  '21:9': { width: 1792, height: 768 },
  '16:9': { width: 1366, height: 768 },
  '4:3': { width: 1024, height: 768 },
  '1:1': { width: 768, height: 768 },
  '3:4': { width: 768, height: 1024 },
  '9:16': { width: 768, height: 1366 },
} as const satisfies Record<string, Size>

/** What decides `Auto`, strongest first. */
const DECIDING_ROLES = ['first_frame', 'last_frame', 'reference_image', 'reference_video'] as const

const RATIO_MIN = 0.4
const RATIO_MAX = 2.5

/**
 * Pixels of the finished clip: short edge 768, both edges even.
 * `Auto` takes the ratio of the first frame, else the last frame, the first reference image, the first reference video, else 16:9,
 * clamped to 0.4–2.5; what lies beyond is cropped at the centre by the renderer.
 */
export function outputSize(aspect_ratio: keyof typeof SIZES | 'Auto', inputs: readonly SizedInput[]): Size {
  if (aspect_ratio !== 'Auto') return SIZES[aspect_ratio]
  for (const role of DECIDING_ROLES) {
    const { width, height } = inputs.find((input) => input.role === role)?.probe ?? {}
    if (width && height) return sizeOfRatio(width / height)
  }
  return SIZES['16:9']
}

/** The 768p size of width ÷ height. */
export function sizeOfRatio(ratio: number): Size {
  const r = Math.min(RATIO_MAX, Math.max(RATIO_MIN, ratio))
  if (r >= 1) return { width: longEdge(r), height: SHORT_EDGE }
  return { width: SHORT_EDGE, height: longEdge(1 / r) }
}

function longEdge(r: number): number {
  return 2 * Math.round((SHORT_EDGE * r) / 2)
}
