import type { Size } from '../../../media/aspect.ts'
import type { FfmpegRun } from '../../../media/ffmpeg/execute.ts'

export const FPS = 24

/** Uncompressed pictures of one size in a file, `phases` of them one after the other. */
export type Still = Size & { path: string; format: 'rgb24' | 'rgba'; phases: number }

/** Where a camera looks: `inset` is the part of each side cut off at most, `x` and `y` (0 to 1) the point that stays in place. */
export type CameraView = { inset: number; x: number; y: number }

export type Visual = { frames: number } & (
  | { kind: 'scene'; sky: Still; layers: readonly { still: Still; top: number }[]; to_left: boolean }
  | { kind: 'picture'; still: Still; from: CameraView; to: CameraView }
  | { kind: 'clip'; path: string; fit: 'cover' | 'contain'; backdrop: string }
)

/** A picture with transparency laid over frames `start` to `end`, faded in and out. */
export type Overlay = { still: Still; x: number; y: number; start: number; end: number; fade_frames: number }

export type Sound = { path: string; volume: number; start_seconds: number; length_seconds: number; from_clip: boolean }

export type Timeline = {
  size: Size
  frames: number
  /** Shown one after the other, each cross-faded into the next over the last `blend_frames` of both. */
  visuals: readonly Visual[]
  blend_frames: number
  overlays: readonly Overlay[]
  sounds: readonly Sound[]
}

/** Half a second. */
const REST_FRAMES = 12

/** RGB to YUV as players expect it of HD. */
const TO_YUV = 'scale=out_color_matrix=bt709:out_range=tv'

type Plan = { inputs: Record<string, string>; args: string[]; graph: string[] }

/** The one FFmpeg run that makes a timeline an MP4. */
export function renderRun(timeline: Timeline, output_path: string): FfmpegRun {
  const plan: Plan = { inputs: {}, args: [], graph: [] }
  for (const [index, visual] of timeline.visuals.entries())
    addVisual(plan, visual, { size: timeline.size, out: `v${index}` })
  const joined = blend(plan, timeline)
  const picture = lay(plan, timeline.overlays, joined)
  mix(plan, timeline)
  const seconds = timeline.frames / FPS
  plan.graph.push(`[${picture}]trim=end_frame=${timeline.frames},format=yuv420p[picture]`)
  return {
    inputs: plan.inputs,
    args: [
      ...plan.args,
      ...['-filter_complex', plan.graph.join(';'), '-map', '[picture]', '-map', '[sound]'],
      ...[
        '-r',
        String(FPS),
        '-c:v',
        'libx264',
        '-preset',
        'superfast',
        '-crf',
        '21',
        '-x264-params',
        'subme=0:b-adapt=0:weightb=0:scenecut=0:weightp=0:aq-mode=0',
        '-pix_fmt',
        'yuv420p',
        '-threads',
        '1',
      ],
      ...['-force_key_frames', `expr:gte(n,${timeline.frames - 1})`], // the last picture must be reproduced exactly
      ...['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv'],
      ...[
        '-c:a',
        'aac',
        '-b:a',
        '160k',
        '-ar',
        '48000',
        '-ac',
        '2',
        '-map_metadata',
        '-1',
        '-fflags',
        '+bitexact',
        '-flags:v',
        '+bitexact',
        '-flags:a',
        '+bitexact',
      ],
      ...['-t', String(seconds), '-movflags', '+faststart', 'clip.mp4'],
    ],
    outputs: { 'clip.mp4': output_path },
    duration_seconds: seconds,
  }
}

function addInput(plan: Plan, path: string, options: readonly string[]): number {
  const index = Object.keys(plan.inputs).length
  plan.inputs[`in${index}`] = path
  plan.args.push(...options, '-i', `in${index}`)
  return index
}

function addStill(plan: Plan, still: Still): number {
  return addInput(plan, still.path, [
    ...[
      '-f',
      'rawvideo',
      '-pixel_format',
      still.format,
      '-video_size',
      `${still.width}x${still.height}`,
      '-framerate',
      String(FPS),
    ],
  ])
}

/** Repeats the pictures of a still for `frames` frames. */
function held(input: number, still: Still, frames: number): string {
  const format = still.format === 'rgba' ? 'yuva420p' : 'yuv420p'
  return `[${input}:v]${TO_YUV},format=${format},loop=loop=-1:size=${still.phases}:start=0,trim=end_frame=${frames},setpts=N/${FPS}/TB`
}

function addVisual(plan: Plan, visual: Visual, { size, out }: { size: Size; out: string }): void {
  const { frames } = visual
  if (visual.kind === 'clip') {
    addClip(plan, visual, { size, out })
    return
  }
  if (visual.kind === 'picture') {
    addPicture(plan, visual, out)
    return
  }
  plan.graph.push(`${held(addStill(plan, visual.sky), visual.sky, frames)}[${out}s0]`)
  visual.layers.forEach(({ still, top }, depth) => {
    plan.graph.push(`${held(addStill(plan, still), still, frames)}[${out}l${depth}]`)
    const travelled = `2*floor(n/${still.phases})`
    const start = still.width - size.width - 8
    const x = visual.to_left ? `-8-${travelled}` : `${travelled}-${Math.max(8, start - (start % 2))}`
    const last = depth === visual.layers.length - 1
    const next = last ? `setsar=1,settb=1/${FPS}[${out}]` : `null[${out}s${depth + 1}]`
    plan.graph.push(`[${out}s${depth}][${out}l${depth}]overlay=x='${x}':y=${top}:eval=frame:format=yuv420,${next}`)
  })
}

/** A picture shown in full rests for a moment before the camera moves away, or after it has returned. */
function addPicture(plan: Plan, { still, from, to, frames }: Extract<Visual, { kind: 'picture' }>, out: string): void {
  const before = from.inset === 0 ? REST_FRAMES : 0
  const after = to.inset === 0 ? REST_FRAMES : 0
  const moving = frames - before - after
  const input = addStill(plan, still)
  const parts = [before, moving, after].filter((length) => length > 0)
  const labels = parts.map((_, index) => `[${out}p${index}]`)
  plan.graph.push(
    `${held(input, still, frames)},split=${parts.length}${labels.map((label) => label.replace('p', 'q')).join('')}`,
  )
  for (const [index, length] of parts.entries()) {
    const move = length === moving ? `,${camera(from, to, moving)}` : ''
    plan.graph.push(`[${out}q${index}]${cut(0, length)}${move},setsar=1,settb=1/${FPS}${labels[index]}`)
  }
  plan.graph.push(`${labels.join('')}concat=n=${parts.length}[${out}]`)
}

/** A move that starts and ends at rest, with subpixel precision: `perspective` interpolates, `zoompan` jitters. */
function camera(from: CameraView, to: CameraView, frames: number): string {
  const at = `min(max((on-1)/${frames - 1},0),1)`
  const eased = `(${at}*${at}*(3-2*${at}))`
  const between = (a: number, b: number) => (a === b ? String(a) : `(${a}+(${(b - a).toFixed(6)})*${eased})`)
  const inset = between(from.inset, to.inset)
  const left = `W*${inset}*${between(from.x, to.x)}`
  const right = `(W-W*${inset}*(1-${between(from.x, to.x)}))`
  const top = `H*${inset}*${between(from.y, to.y)}`
  const bottom = `(H-H*${inset}*(1-${between(from.y, to.y)}))`
  return `perspective=x0='${left}':y0='${top}':x1='${right}':y1='${top}':x2='${left}':y2='${bottom}':x3='${right}':y3='${bottom}':eval=frame:interpolation=linear`
}

function addClip(
  plan: Plan,
  clip: Extract<Visual, { kind: 'clip' }>,
  { size, out }: { size: Size; out: string },
): void {
  const input = addInput(plan, clip.path, ['-stream_loop', '-1', '-t', String(clip.frames / FPS + 1)])
  const { width, height } = size
  const fit =
    clip.fit === 'cover'
      ? `scale=${width}:${height}:force_original_aspect_ratio=increase:out_color_matrix=bt709:out_range=tv,crop=${width}:${height}`
      : `scale=${width}:${height}:force_original_aspect_ratio=decrease:force_divisible_by=2:out_color_matrix=bt709:out_range=tv,pad=${width}:${height}:-1:-1:${clip.backdrop}`
  plan.graph.push(
    `[${input}:v:0]fps=${FPS},${fit},setsar=1,format=yuv420p,tpad=stop_mode=clone:stop=-1,trim=end_frame=${clip.frames},setpts=N/${FPS}/TB,settb=1/${FPS}[${out}]`,
  )
}

/**
 * Joins the visuals end to end without their beginnings, and lays each beginning, fading in, over the end of the visual before.
 * `xfade` processes every frame and costs ten times as much; cutting off the ends would keep an entire visual in memory.
 */
function blend({ graph }: Plan, { visuals, blend_frames }: Timeline): string {
  if (visuals.length === 1) return 'v0'
  const bodies = ['[v0]']
  const starts: number[] = []
  let length = visuals[0]!.frames
  for (const [index, { frames }] of visuals.entries()) {
    if (index === 0) continue
    graph.push(`[v${index}]split[d${index}][e${index}]`)
    graph.push(`[e${index}]${cut(blend_frames, frames)},settb=1/${FPS}[b${index}]`)
    bodies.push(`[b${index}]`)
    starts.push(length - blend_frames)
    length += frames - blend_frames
  }
  graph.push(`${bodies.join('')}concat=n=${bodies.length}[k0]`)
  for (const [order, start] of starts.entries()) {
    const fade = `format=yuva420p,fade=t=in:s=0:n=${blend_frames}:alpha=1,setpts=PTS+${start}/${FPS}/TB`
    graph.push(`[d${order + 1}]${cut(0, blend_frames)},${fade}[h${order + 1}]`)
    graph.push(`[k${order}][h${order + 1}]overlay=eof_action=pass:format=yuv420[k${order + 1}]`)
  }
  return `k${starts.length}`
}

function cut(start: number, end: number): string {
  return `trim=start_frame=${start}:end_frame=${end},setpts=N/${FPS}/TB`
}

function lay(plan: Plan, overlays: readonly Overlay[], below: string): string {
  let shown = below
  overlays.forEach(({ still, x, y, start, end, fade_frames }, index) => {
    const length = end - start
    const fades = `fade=t=in:s=0:n=${fade_frames}:alpha=1,fade=t=out:s=${length - fade_frames}:n=${fade_frames}:alpha=1`
    plan.graph.push(`${held(addStill(plan, still), still, length)},${fades},setpts=PTS+${start}/${FPS}/TB[o${index}]`)
    plan.graph.push(`[${shown}][o${index}]overlay=x=${x}:y=${y}:eof_action=pass:format=yuv420[p${index}]`)
    shown = `p${index}`
  })
  return shown
}

/** `amix` divides the volume by the number of its inputs, which all run to the end; it is multiplied again afterward. */
function mix(plan: Plan, { sounds, frames }: Timeline): void {
  const seconds = frames / FPS
  sounds.forEach((sound, index) => {
    const input = addInput(
      plan,
      sound.path,
      sound.from_clip ? ['-stream_loop', '-1', '-t', String(sound.length_seconds)] : [],
    )
    const fade = Math.min(0.4, sound.length_seconds / 4)
    const delay = Math.round(sound.start_seconds * 1000)
    plan.graph.push(
      `[${input}:a:0]aresample=48000,aformat=channel_layouts=stereo,atrim=end=${sound.length_seconds},asetpts=PTS-STARTPTS,` +
        `afade=t=in:d=${fade * 0.25},afade=t=out:st=${sound.length_seconds - fade}:d=${fade},volume=${sound.volume},` +
        `adelay=${delay}|${delay},apad=whole_dur=${seconds}[a${index}]`,
    )
  })
  const labels = sounds.map((_, index) => `[a${index}]`).join('')
  plan.graph.push(
    `${labels}amix=inputs=${sounds.length}:duration=longest,volume=${sounds.length},alimiter=limit=0.95:level=0,atrim=end=${seconds}[sound]`,
  )
}
