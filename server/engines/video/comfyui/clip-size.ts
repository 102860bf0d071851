/** The frame counts that a model can render. Each rule rounds up. */
export const LENGTH_RULES = ['exact', '17n+5', '8n+1', '4n+1'] as const
export type LengthRule = (typeof LENGTH_RULES)[number]

const STEPS: Record<LengthRule, readonly [step: number, rest: number]> = {
  exact: [1, 0],
  '17n+5': [17, 5],
  '8n+1': [8, 1],
  '4n+1': [4, 1],
}

/** The frames of a clip, at least as many as its length needs. */
export function frameCount(seconds: number, { fps, length_rule }: { fps: number; length_rule: LengthRule }): number {
  const frames = Math.round(seconds * fps)
  const [step, rest] = STEPS[length_rule]
  return frames + ((rest - (frames % step) + step) % step)
}

export type SizeRule = { multiple_of?: number | undefined; pixels_max?: number | undefined }

/** The size nearest to the wanted one with both sides a multiple of `multiple_of` and no more than `pixels_max` pixels. */
export function clipSize(
  wanted: { width: number; height: number },
  { multiple_of = 1, pixels_max = Number.POSITIVE_INFINITY }: SizeRule,
): { width: number; height: number } {
  const scale = Math.min(1, Math.sqrt(pixels_max / (wanted.width * wanted.height)))
  const fit = (side: number) => Math.max(1, Math.round((side * scale) / multiple_of)) * multiple_of
  const size = { width: fit(wanted.width), height: fit(wanted.height) }
  while (size.width * size.height > pixels_max && Math.max(size.width, size.height) > multiple_of) {
    size[size.width >= size.height ? 'width' : 'height'] -= multiple_of
  }
  return size
}
