import type { Size } from '../../../media/aspect.ts'
import type { SeededRandom } from '../../seeded-random.ts'
import type { Palette, SceneKind } from './palette.ts'

/**
 * A layer of land that slides sideways. `svg(shift)` draws it moved by `shift` pixels to the left, which may be a fraction:
 * the renderer draws as many phases as it needs for a motion below one pixel a frame.
 */
export type LandLayer = {
  top: number
  width: number
  height: number
  /** Pixels a frame. 2 ÷ a power of two, so that phases repeat. */
  speed: 2 | 1 | 0.5 | 0.25
  svg(shift: number): string
}

export type Scene = { sky: string; layers: LandLayer[]; to_left: boolean }

/** Layers reach this far beyond both edges, so that no phase shows its end. */
const MARGIN = 8

/** Draws a scene for `frames` frames: a still sky and three layers of land or water in front of it. */
export function drawScene(
  kind: SceneKind,
  palette: Palette,
  { size, frames, random }: { size: Size; frames: number; random: SeededRandom },
): Scene {
  const horizon = size.height * random.between(0.62, 0.68)
  const light = { x: size.width * random.between(0.6, 0.82), y: horizon - size.height * random.between(0.13, 0.3) }
  const speeds = kind === 'city' || kind === 'forest' ? ([0.5, 1, 2] as const) : ([0.25, 0.5, 1] as const)
  const lift = Math.round(size.height * LIFT[kind])
  const baseOf = (depth: number) => Math.round(horizon + (depth - 0.7) * size.height * 0.095)
  const layers = speeds.map((speed, depth): LandLayer => {
    const top = evenDown(baseOf(depth) - lift)
    // Parts covered by a nearer layer are not drawn; below the nearest one the sky's picture continues.
    const bottom =
      depth < speeds.length - 1
        ? baseOf(depth + 1) + lift * 0.2
        : IS_PLAIN[kind]
          ? baseOf(depth) + lift * 0.3 + 8
          : size.height
    const box = { width: even(size.width + speed * frames + 2 * MARGIN), height: even(bottom - top) }
    const shape = SHAPES[kind]({ ...box, lift, depth, random, palette })
    return { top, ...box, speed, svg: (shift) => svgOf(box, `<g transform="translate(${-shift} 0)">${shape}</g>`) }
  })
  const foot = layers.at(-1)!.top + layers.at(-1)!.height
  return { sky: drawSky(palette, { size, horizon, light, foot, random }), layers, to_left: random.between(0, 1) < 0.5 }
}

type Sky = { size: Size; horizon: number; light: { x: number; y: number }; foot: number; random: SeededRandom }

function drawSky(palette: Palette, { size, horizon, light, foot, random }: Sky): string {
  const { width, height } = size
  const radius = Math.min(width, height) * random.between(0.055, 0.1)
  const [top, middle, low] = palette.sky
  const stars = palette.stars ? drawStars(size, horizon, random) : ''
  return svgOf(
    size,
    `<defs>
      <linearGradient id="sky" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="${top}"/><stop offset="0.42" stop-color="${middle}"/>
        <stop offset="${horizon / height}" stop-color="${low}"/><stop offset="1" stop-color="${low}"/></linearGradient>
      <radialGradient id="glow" gradientUnits="userSpaceOnUse" cx="${light.x}" cy="${light.y}" r="${Math.max(width, height) * 0.55}">
        <stop offset="0" stop-color="${palette.light}" stop-opacity="0.6"/><stop offset="0.25" stop-color="${palette.light}" stop-opacity="0.2"/>
        <stop offset="1" stop-color="${palette.light}" stop-opacity="0"/></radialGradient>
      <radialGradient id="disc"><stop offset="0" stop-color="${palette.light}"/><stop offset="0.94" stop-color="${palette.light}"/>
        <stop offset="1" stop-color="${palette.light}" stop-opacity="0"/></radialGradient>
      <radialGradient id="vignette" cx="0.5" cy="0.5" r="0.75"><stop offset="0.55" stop-opacity="0"/><stop offset="1" stop-opacity="0.34"/></radialGradient>
      <linearGradient id="ground" gradientUnits="userSpaceOnUse" x1="0" y1="${foot - 2}" x2="0" y2="${height}">
        <stop offset="0" stop-color="${palette.land[2]}"/><stop offset="1" stop-color="${darker(palette.land[2])}"/></linearGradient>
      <radialGradient id="cloud"><stop offset="0" stop-color="${palette.light}"/><stop offset="0.4" stop-color="${palette.light}" stop-opacity="0.5"/>
        <stop offset="1" stop-color="${palette.light}" stop-opacity="0"/></radialGradient>
    </defs>
    <rect width="100%" height="100%" fill="url(#sky)"/>${stars}
    <rect width="100%" height="100%" fill="url(#glow)"/>
    <circle cx="${light.x}" cy="${light.y}" r="${radius}" fill="url(#disc)"/>
    ${drawClouds({ size, horizon, random })}
    <rect width="100%" height="100%" fill="url(#vignette)"/>
    <rect y="${foot - 2}" width="100%" height="100%" fill="url(#ground)"/>`,
  )
}

function drawStars({ width }: Size, horizon: number, random: SeededRandom): string {
  return repeat(90, () => {
    const y = horizon * random.between(0, 1) ** 1.4
    return `<circle cx="${random.between(0, width)}" cy="${y}" r="${random.between(0.5, 1.7)}" fill="#fff" opacity="${random.between(0.25, 0.9)}"/>`
  })
}

function drawClouds({ size, horizon, random }: { size: Size; horizon: number; random: SeededRandom }): string {
  return repeat(9, () => {
    const [x, y] = [random.between(0, size.width), horizon * random.between(0.4, 0.98)]
    const [rx, ry] = [size.width * random.between(0.14, 0.4), size.height * random.between(0.008, 0.03)]
    return `<ellipse cx="${x}" cy="${y}" rx="${rx}" ry="${ry}" fill="url(#cloud)" opacity="${random.between(0.1, 0.34)}"/>`
  })
}

type Shape = { width: number; height: number; lift: number; depth: number; random: SeededRandom; palette: Palette }

/** Kinds whose nearest layer is one plain color below its edge. */
const IS_PLAIN: Record<SceneKind, boolean> = { hills: true, dunes: true, forest: true, sea: false, city: false }

/** How far above its base line the shapes of a kind rise, as a part of the height. */
const LIFT: Record<SceneKind, number> = { hills: 0.16, sea: 0.02, city: 0.2, forest: 0.14, dunes: 0.08 }

const SHAPES: Record<SceneKind, (shape: Shape) => string> = {
  hills: (shape) => ground(shape, ridge(shape, { longest: 620, roughness: 0.9 })),
  dunes: (shape) => ground(shape, ridge(shape, { longest: 900, roughness: 0.25 })),
  sea: (shape) => water(shape),
  city: (shape) => towers(shape),
  forest: (shape) => pines(shape),
}

/** Heights along the top edge: a few waves of falling length, 0 at the top of the lift. */
function ridge(
  { width, lift, random }: Shape,
  { longest, roughness }: { longest: number; roughness: number },
): (x: number) => number {
  const waves = [1, 0.47, 0.21, 0.09].map((part, order) => ({
    length: longest * part * random.between(0.8, 1.2),
    phase: random.between(0, width),
    share: order === 0 ? 1 : 0.75 * roughness * part ** 0.7,
  }))
  const sum = waves.reduce((total, { share }) => total + share, 0)
  const swing = (x: number) =>
    waves.reduce((total, { length, phase, share }) => total + share * Math.sin(((x + phase) / length) * 2 * Math.PI), 0)
  return (x) => lift * (0.5 + (0.5 * swing(x)) / sum)
}

function ground({ width, height, depth, palette }: Shape, heightAt: (x: number) => number): string {
  const points: string[] = []
  for (let x = -MARGIN; x <= width + MARGIN; x += 6) points.push(`${x} ${Math.max(0, heightAt(x)).toFixed(1)}`)
  return `${fade(depth, palette)}<path d="M${points.join('L')}V${height}H${-MARGIN}Z" fill="url(#land)"/>`
}

function water(shape: Shape): string {
  const { width, height, lift, depth, random, palette } = shape
  const crest = ground(shape, (x) => lift * (0.5 + 0.4 * Math.sin(x / (40 + depth * 50) + depth * 2)))
  const glints = repeat(26 + 10 * depth, () => {
    const y = lift + (height - lift) * random.between(0, 1) ** 1.5
    const length = random.between(14, 60) * (1 + depth * 0.6)
    return `<rect x="${random.between(0, width)}" y="${y}" width="${length}" height="${1.4 + depth * 0.6}" rx="1" fill="${palette.light}" opacity="${random.between(0.06, 0.3)}"/>`
  })
  return crest + glints
}

function towers(shape: Shape): string {
  const { width, height, lift, depth, random, palette } = shape
  let shapes = ground(shape, () => lift * 0.86)
  let x = -MARGIN
  while (x < width + MARGIN) {
    const broad = random.between(34, 92) * (1 + depth * 0.35)
    const top = lift * random.between(0, 0.85)
    shapes += `<rect x="${x}" y="${top}" width="${broad + 1}" height="${height - top}" fill="url(#land)"/>`
    if (random.between(0, 1) < 0.25)
      shapes += `<rect x="${x + broad / 2}" y="${top - lift * 0.12}" width="2" height="${lift * 0.12}" fill="url(#land)"/>`
    shapes += windows({ x, top, broad, bottom: Math.min(height, top + 260), depth, random, palette })
    x += broad + random.between(-6, 16)
  }
  return shapes
}

type Facade = {
  x: number
  top: number
  broad: number
  bottom: number
  depth: number
  random: SeededRandom
  palette: Palette
}

function windows({ x, top, broad, bottom, depth, random, palette }: Facade): string {
  const [column, row] = [11 + depth * 3, 15 + depth * 4]
  let lit = ''
  for (let left = x + 7; left < x + broad - 8; left += column) {
    for (let y = top + 10; y < bottom; y += row) {
      if (random.between(0, 1) > 0.24) continue
      lit += `<rect x="${left}" y="${y}" width="${column * 0.45}" height="${row * 0.4}" fill="${palette.accent}" opacity="${random.between(0.25, 0.85)}"/>`
    }
  }
  return lit
}

function pines(shape: Shape): string {
  const { width, height, lift, depth, random } = shape
  const base = ridge(shape, { longest: 700, roughness: 0.4 })
  const tall = lift * (0.42 + depth * 0.14)
  let trees = ''
  for (let x = -MARGIN; x < width + MARGIN; x += random.between(9, 22) * (1 + depth * 0.5)) {
    const grown = tall * random.between(0.55, 1)
    const foot = lift * 0.35 + base(x) * 0.6 + 8
    const half = grown * 0.2
    trees += `<path d="M${x} ${Math.max(0, foot - grown)}l${half} ${grown}h${-2 * half}Z" fill="url(#land)"/>`
  }
  return ground({ ...shape, height }, (x) => lift * 0.35 + base(x) * 0.6) + trees
}

/** Land is darker the nearer it is, and fades toward the ground into the haze of the layer behind. */
function fade(depth: number, palette: Palette): string {
  const index = Math.min(depth, palette.land.length - 1)
  const [near, behind] = [palette.land[index]!, index === 0 ? palette.sky[2] : palette.land[index - 1]!]
  const haze = index === palette.land.length - 1 ? near : behind
  return `<defs><linearGradient id="land" gradientUnits="userSpaceOnUse" x1="0" y1="0" x2="0" y2="260">
    <stop offset="0" stop-color="${near}"/><stop offset="1" stop-color="${haze}"/></linearGradient></defs>`
}

function svgOf({ width, height }: Size, content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${content}</svg>`
}

function darker(color: string): string {
  const halved = (at: number) => Math.round(Number.parseInt(color.slice(at, at + 2), 16) * 0.55)
  return `rgb(${halved(1)} ${halved(3)} ${halved(5)})`
}

function repeat(times: number, draw: () => string): string {
  return Array.from({ length: times }, draw).join('')
}

export function even(length: number): number {
  return 2 * Math.ceil(length / 2)
}

export function evenDown(length: number): number {
  return 2 * Math.floor(length / 2)
}
