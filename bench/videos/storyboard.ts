import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storyboardVideo } from '../../server/engines/video/storyboard/adapter.ts'
import { chooseRunner, type FfmpegRunner } from '../../server/media/ffmpeg/choose.ts'
import { runFfmpeg } from '../../server/media/ffmpeg/run.ts'
import { inputFrom, renderTo, requestOf } from '../../test/support/data/clip.ts'
import { sampleMedia, samplePicture } from '../../test/support/data/media.ts'
import { QUICK } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'

const SECONDS = 5
const ROUNDS = QUICK ? 1 : 5

/** CPU-seconds per second of finished 768p video. */
const BUDGETS = { wasm: 1.2, native: 0.5 }

const PROMPT =
  'A red fox trots through a misty forest at sunrise. She looks up. <d>Good morning, world!</d> Light falls between the pines.'

/** Renders text, two frames and references, on every FFmpeg of this machine. The yardstick is FFmpeg encoding a still picture. Linux only. */
export async function run(): Promise<Row[]> {
  const dir = await mkdtemp(join(tmpdir(), 'kinora-bench-storyboard-'))
  try {
    const rows: Row[] = []
    for (const kind of ['wasm', 'native'] as const) {
      const runner = await chooseRunner(kind).catch(() => null)
      if (runner) rows.push(...(await measure(runner, dir)))
    }
    return rows
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function measure(runner: FfmpegRunner, dir: string): Promise<Row[]> {
  const path = join(dir, 'picture.jpg')
  await writeFile(path, await samplePicture('jpeg', { width: 1600, height: 1000 }))
  const { mp4, ogg } = await sampleMedia(dir, ['mp4', 'ogg'], { seconds: 4, width: 640, height: 360 })
  const inputs = {
    text: [],
    'first and last frame': [await inputFrom('first_frame', path), await inputFrom('last_frame', path)],
    references: [
      await inputFrom('reference_image', path),
      await inputFrom('reference_video', mp4),
      await inputFrom('reference_audio', ogg),
    ],
  }
  const engine = storyboardVideo({ work_dir: join(dir, runner.kind), runner })
  const rows: Row[] = []
  for (const [name, given] of Object.entries(inputs)) {
    const request = requestOf({
      job_id: name,
      original_prompt: PROMPT,
      seconds: SECONDS,
      aspect_ratio: '16:9',
      inputs: given,
    })
    const rounds: Record<'own' | 'still', number[]> = { own: [], still: [] }
    for (let round = 0; round < ROUNDS; round++) {
      rounds.still.push((await cpuSeconds(() => encodeStill(runner, { path, dir }))) / SECONDS)
      // One attempt is rendered once.
      const attempt = { ...request, attempt_id: `${name}-${round}` }
      rounds.own.push((await cpuSeconds(() => renderTo(join(dir, 'clip.mp4'), engine, attempt))) / SECONDS)
    }
    rows.push(
      rowOf({
        name: `Storyboard, 768p, ${name} (${runner.kind})`,
        unit: 'CPU seconds per second',
        rounds: rounds.own,
        limit: BUDGETS[runner.kind],
        yardsticks: [{ name: 'a still picture encoded', rounds: rounds.still }],
      }),
    )
  }
  await engine.close?.()
  return rows
}

async function encodeStill(runner: FfmpegRunner, { path, dir }: { path: string; dir: string }): Promise<void> {
  const loop = `scale=1366:768,setsar=1,format=yuv420p,loop=loop=-1:size=1:start=0,fps=24,trim=duration=${SECONDS}`
  const args = [
    '-i',
    'in.jpg',
    '-vf',
    loop,
    '-c:v',
    'libx264',
    '-preset',
    'veryfast',
    '-crf',
    '23',
    '-threads',
    '1',
    'out.mp4',
  ]
  const run = { inputs: { 'in.jpg': path }, args, outputs: { 'out.mp4': join(dir, 'still.mp4') } }
  await runFfmpeg(run, { runner, time_limit_seconds: 120, work_dir: dir })
}

/** Linux counts the CPU time of ended children, in hundredths of a second. */
async function cpuSeconds(work: () => Promise<unknown>): Promise<number> {
  const before = await childTicks()
  await work()
  return ((await childTicks()) - before) / 100
}

async function childTicks(): Promise<number> {
  await new Promise((later) => setTimeout(later, 200)) // the last child is reaped
  const fields = (await readFile('/proc/self/stat', 'utf8')).split(') ')[1]!.split(' ')
  return Number(fields[13]) + Number(fields[14])
}
