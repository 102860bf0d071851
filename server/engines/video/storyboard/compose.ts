import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Size } from '../../../media/aspect.ts'
import type { ProbeResult } from '../../../media/probe/probe.ts'
import { type SeededRandom, seededRandom } from '../../seeded-random.ts'
import { type Caption, captionsOf } from './captions.ts'
import { drawLayer, drawScrim, drawSky, drawWords, preparePicture } from './draw.ts'
import { composeMusic } from './music.ts'
import { moodOf, type Palette, type SceneKind } from './palette.ts'
import { drawScene } from './scenes.ts'
import { type CameraView, FPS, type Overlay, type Sound, type Timeline, type Visual } from './timeline.ts'

export type SpooledInput = {
  role: 'first_frame' | 'last_frame' | 'reference_image' | 'reference_video' | 'reference_audio'
  path: string
  probe: ProbeResult
}

/** What a clip is made from. The same `seed_text` gives the same clip. */
export type Script = { prompt: string; seconds: number; size: Size; seed_text: string; inputs: readonly SpooledInput[] }

const STILL: CameraView = { inset: 0, x: 0.5, y: 0.5 }

/** How long a scene is shown, approximately. */
const SCENE_SECONDS = 5

type Composition = { script: Script; frames: number; dir: string; random: SeededRandom; palette: Palette }

/** Draws everything a clip needs into `dir` and returns its timeline. Throws UnreadableReference. */
export async function composeTimeline(script: Script, dir: string): Promise<Timeline> {
  const random = seededRandom(script.seed_text)
  const { palette, scenes } = moodOf(script.prompt, random)
  const frames = Math.round(script.seconds * FPS)
  const composition: Composition = { script, frames, dir, random, palette }
  const seconds = frames / FPS
  const pictured = script.inputs.some(({ role }) => role !== 'reference_audio')
  const captions = captionsOf(script.prompt, seconds, pictured ? 0.75 : 0.35)
  const roles = new Set(script.inputs.map(({ role }) => role))
  const shown =
    roles.has('first_frame') || roles.has('last_frame')
      ? await composeFrames(composition)
      : pictured
        ? await composeReferences(composition)
        : await composeScenes(composition, scenes, captions)
  return {
    size: script.size,
    frames,
    ...shown,
    overlays: await addCaptions(composition, captions, pictured ? 'picture' : 'sky'),
    sounds: await addSounds(composition, shown),
  }
}

type Shown = Pick<Timeline, 'visuals' | 'blend_frames'>

/** Scenes change with the captions, and also during a long caption. */
async function composeScenes(
  composition: Composition,
  kinds: readonly SceneKind[],
  captions: readonly Caption[],
): Promise<Shown> {
  const slots = Math.max(1, captions.filter(({ kind }) => kind === 'caption').length)
  const slot_seconds = composition.frames / FPS / slots
  const count = slots * Math.max(1, Math.round(slot_seconds / SCENE_SECONDS))
  const blend_frames = 16
  const visuals: Visual[] = []
  for (const [index, frames] of lengths(composition.frames, count, blend_frames).entries()) {
    const scene = drawScene(kinds[index % kinds.length]!, composition.palette, {
      size: composition.script.size,
      frames,
      random: composition.random,
    })
    const sky = await drawSky(scene.sky, composition.script.size, join(composition.dir, `sky-${index}`))
    const layers = []
    for (const [depth, layer] of scene.layers.entries()) {
      const still = await drawLayer(layer, join(composition.dir, `layer-${index}-${depth}`), scene.to_left)
      layers.push({ still, top: layer.top })
    }
    visuals.push({ kind: 'scene', frames, sky, layers, to_left: scene.to_left })
  }
  return { visuals, blend_frames }
}

/** The camera slowly moves away from the first frame, and comes to rest on the last. */
async function composeFrames({ script, frames, dir, random }: Composition): Promise<Shown> {
  const away: CameraView = { inset: 0.1, x: random.between(0.35, 0.65), y: random.between(0.35, 0.6) }
  const picture = async (role: SpooledInput['role']) => {
    const given = script.inputs.find((input) => input.role === role)
    return given && (await preparePicture(given.path, { size: script.size, uncropped: false, path: join(dir, role) }))
  }
  const [first, last] = [await picture('first_frame'), await picture('last_frame')]
  if (first && last) {
    const blend_frames = Math.round(Math.min(frames * 0.22, 1.6 * FPS))
    const [opening, closing] = lengths(frames, 2, blend_frames)
    return {
      blend_frames,
      visuals: [
        { kind: 'picture', frames: opening!, still: first, from: STILL, to: { ...away, inset: 0.08 } },
        { kind: 'picture', frames: closing!, still: last, from: { ...away, inset: 0.08 }, to: STILL },
      ],
    }
  }
  if (first) return { blend_frames: 1, visuals: [{ kind: 'picture', frames, still: first, from: STILL, to: away }] }
  return { blend_frames: 1, visuals: [{ kind: 'picture', frames, still: last!, from: away, to: STILL }] }
}

/** References one after another in the given order; a clip is shown twice as long as a picture. */
async function composeReferences({ script, frames, dir, random, palette }: Composition): Promise<Shown> {
  const given = script.inputs.filter(({ role }) => role === 'reference_image' || role === 'reference_video')
  const weights = given.map(({ role }) => (role === 'reference_video' ? 2 : 1))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const blend_frames = Math.max(4, Math.min(16, Math.floor(frames / total / 3)))
  const visuals: Visual[] = []
  for (const [index, length] of lengths(frames, weights, blend_frames).entries()) {
    const { role, path, probe } = given[index]!
    const loss = cropLoss(probe, script.size)
    if (role === 'reference_video') {
      visuals.push({
        kind: 'clip',
        frames: length,
        path,
        fit: loss > 0.4 ? 'contain' : 'cover',
        backdrop: palette.land[2].replace('#', '0x'),
      })
      continue
    }
    const still = await preparePicture(path, {
      size: script.size,
      uncropped: loss > 0.35,
      path: join(dir, `picture-${index}`),
    })
    visuals.push({ kind: 'picture', frames: length, still, ...move(random, index) })
  }
  return { visuals, blend_frames }
}

/** Zooms in, pans, zooms out: never the same move twice in a row. */
function move(random: SeededRandom, index: number): { from: CameraView; to: CameraView } {
  const [x, y] = [random.between(0.3, 0.7), random.between(0.3, 0.6)]
  const near: CameraView = { inset: 0.12, x, y }
  const side = random.between(0, 1) < 0.5 ? 0 : 1
  if (index % 3 === 0) return { from: { inset: 0.02, x, y }, to: near }
  if (index % 3 === 1) return { from: { inset: 0.1, x: side, y }, to: { inset: 0.1, x: 1 - side, y } }
  return { from: near, to: { inset: 0.02, x, y } }
}

/** The share of a picture that is cropped when it fills `size`. */
function cropLoss({ width, height }: ProbeResult, size: Size): number {
  const ratio = ((width ?? size.width) / (height ?? size.height)) * (size.height / size.width)
  return 1 - Math.min(ratio, 1 / ratio)
}

/** Frames of each part so that, overlapped by `blend`, they last exactly `frames`. */
function lengths(frames: number, parts: number | readonly number[], blend: number): number[] {
  const weights = typeof parts === 'number' ? new Array<number>(parts).fill(1) : parts
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const open = frames + (weights.length - 1) * blend
  let passed = 0
  let used = 0
  return weights.map((weight) => {
    passed += weight
    const end = Math.round((open * passed) / total)
    const length = end - used
    used = end
    return length
  })
}

async function addCaptions(
  { script, dir, palette, frames }: Composition,
  captions: readonly Caption[],
  place: 'sky' | 'picture',
): Promise<Overlay[]> {
  const overlays: Overlay[] = []
  if (place === 'picture' && captions.length > 0) {
    const { x, y, ...still } = await drawScrim(script.size, join(dir, 'scrim'))
    const from = Math.min(...captions.map(({ start_seconds }) => start_seconds))
    const to = Math.max(...captions.map(({ end_seconds }) => end_seconds))
    overlays.push({ still, x, y, ...span(from, to, frames), fade_frames: 12 })
  }
  for (const [index, caption] of captions.entries()) {
    const { x, y, ...still } = await drawWords(caption, {
      size: script.size,
      place,
      accent: palette.accent,
      path: join(dir, `words-${index}`),
    })
    const { start, end } = span(caption.start_seconds, caption.end_seconds, frames)
    overlays.push({
      still,
      x,
      y,
      start,
      end,
      fade_frames: Math.min(caption.kind === 'caption' ? 11 : 6, Math.floor((end - start) / 3)),
    })
  }
  return overlays
}

/** Frames between two times, never the first or the last frame of the clip. */
function span(from_seconds: number, to_seconds: number, frames: number): { start: number; end: number } {
  return {
    start: Math.max(1, Math.round(from_seconds * FPS)),
    end: Math.min(frames - 1, Math.round(to_seconds * FPS) - 2),
  }
}

/** Music for the whole clip, quieter if the customer's own sound is used. */
async function addSounds(
  { script, frames, dir, random }: Composition,
  { visuals, blend_frames }: Shown,
): Promise<Sound[]> {
  const seconds = frames / FPS
  const given: Sound[] = script.inputs
    .filter(({ role }) => role === 'reference_audio')
    .map(({ path, probe }) => ({
      path,
      volume: 0.9,
      start_seconds: 0,
      length_seconds: Math.min(seconds, probe.duration_seconds ?? seconds),
      from_clip: false,
    }))
  let start = 0
  for (const visual of visuals) {
    const input = visual.kind === 'clip' ? script.inputs.find(({ path }) => path === visual.path) : undefined
    if (input?.probe.audio_codec) {
      const volume = given.length > 0 ? 0.45 : 0.8
      given.push({
        path: input.path,
        volume,
        start_seconds: start / FPS,
        length_seconds: visual.frames / FPS,
        from_clip: true,
      })
    }
    start += visual.frames - blend_frames
  }
  const path = join(dir, 'music.wav')
  await writeFile(path, composeMusic(seconds, random))
  return [
    { path, volume: given.length > 0 ? 0.35 : 1, start_seconds: 0, length_seconds: seconds, from_clip: false },
    ...given,
  ]
}
