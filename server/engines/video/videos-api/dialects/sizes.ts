import type { RenderRequest } from '../../contract.ts'

export const SIZED_RATIOS = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'] as const
export type Ratio = (typeof SIZED_RATIOS)[number]

/** Multiples of 32 with an area of at most 768 · 1344, as the open weights of H3 want them. Source: docs/engines.md, video. */
export const H3_SIZES: Record<Ratio, readonly [width: number, height: number]> = {
  '21:9': [1536, 672],
  '16:9': [1344, 768],
  '4:3': [1024, 768],
  '1:1': [768, 768],
  '3:4': [768, 1024],
  '9:16': [768, 1344],
}

/** The ratio a request asks for; for `Auto` the listed one nearest to its pixels, by the logarithm of the ratio. */
export function listedRatio(request: Pick<RenderRequest, 'aspect_ratio' | 'width' | 'height'>): Ratio {
  if (request.aspect_ratio !== 'Auto') return request.aspect_ratio
  const wanted = Math.log(request.width / request.height)
  const distance = (ratio: Ratio) => Math.abs(Math.log(H3_SIZES[ratio][0] / H3_SIZES[ratio][1]) - wanted)
  return SIZED_RATIOS.reduce((best, ratio) => (distance(ratio) < distance(best) ? ratio : best))
}
