import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ChildError, runChild } from '../media/child.ts'
import { chooseRunner, FfmpegError, type FfmpegRunner } from '../media/ffmpeg-runner.ts'
import { makeScratch, removeScratch, sweepScratch } from '../media/scratch.ts'
import type { RenderTask } from './storyboard/child.ts'
import type { SpooledInput } from './storyboard/direct.ts'
import {
  ASPECT_RATIOS,
  type Capabilities,
  EngineError,
  type RenderRequest,
  type RenderState,
  type VideoEngine,
} from './video.ts'

export type StoryboardOptions = {
  /** Inputs, drawings and finished clips are kept here until they are fetched. Swept at the first start. */
  work_dir: string
  /** Children at a time. Default: all cores but one, at least 1 and at most 2. */
  renders_max?: number
  /** Default: what the machine has. */
  runner?: FfmpegRunner
}

/** Finished renders kept for a host that has not come for them. */
const FINISHED_MAX = 50
const UNFETCHED_SECONDS = 3600
const FETCHED_SECONDS = 120

/** Reference clips and sounds last 2 to 15 s; muxers round. Source: docs/api/videos.md, Failure codes. */
const REFERENCE_SECONDS = [1.95, 15.05] as const

const CAPABILITIES: Capabilities = {
  modes: new Set(['text', 'first_frame', 'last_frame', 'both_frames', 'references']),
  references_max: { images: 8, videos: 2, audio: 3, files: 13 },
  seconds: [4, 15],
  aspect_ratios: new Set(ASPECT_RATIOS),
  auto_aspect_ratio: true,
  media: 'bytes',
  audio_out: true,
  cancel: 'any',
  idempotency: 'client_id',
}

type Render = {
  attempt_id: string
  state: RenderState
  abort: AbortController
  dir: string
  output_path: string
  /** Begins the child when its turn comes. */
  run: () => Promise<void>
  expiry: NodeJS.Timeout | null
}

/**
 * The embedded animatic renderer: draws the prompt as a moving storyboard with captions, frames, references and sound, one child a render.
 * One `attempt_id` is one render: starting it again returns the same ticket. After a restart every ticket is `lost`.
 */
export function storyboardVideo(options: StoryboardOptions): VideoEngine {
  const { work_dir, renders_max = Math.max(1, Math.min(2, availableParallelism() - 1)) } = options
  const instance = randomUUID()
  const renders = new Map<string, Render>()
  const starting = new Map<string, Promise<Render>>()
  const waiting: Render[] = []
  let running = 0
  let swept: Promise<unknown> | null = null

  const turn = () => {
    while (running < renders_max && waiting.length > 0) {
      running++
      void waiting
        .shift()!
        .run()
        .finally(() => {
          running--
          turn()
        })
    }
  }

  const remove = async (render: Render) => {
    renders.delete(render.attempt_id)
    if (render.expiry) clearTimeout(render.expiry)
    const place = waiting.indexOf(render)
    if (place >= 0) waiting.splice(place, 1)
    render.abort.abort(new EngineError('transient', 'The render was stopped.'))
    await removeScratch(render.dir)
  }

  const keepFor = (render: Render, seconds: number) => {
    if (render.expiry) clearTimeout(render.expiry)
    render.expiry = setTimeout(() => void remove(render), seconds * 1000).unref()
    const finished = [...renders.values()].filter(({ state }) => state.state !== 'running')
    if (finished.length > FINISHED_MAX) void remove(finished[0]!)
  }

  const admit = async (request: RenderRequest, signal: AbortSignal): Promise<Render> => {
    swept ??= sweepScratch(work_dir)
    await swept
    const runner = options.runner ?? (await availableRunner())
    const dir = await makeScratch(work_dir)
    try {
      const inputs = await spool(request, dir, signal)
      const render = renderOf(request, { inputs, dir, runner, onFinished: (done) => keepFor(done, UNFETCHED_SECONDS) })
      renders.set(render.attempt_id, render)
      waiting.push(render)
      turn()
      return render
    } catch (error) {
      await removeScratch(dir)
      throw error
    }
  }

  const find = (ticket: unknown): Render | undefined => {
    const { attempt_id, instance: of } = ticket as { attempt_id: string; instance: string }
    return of === instance ? renders.get(attempt_id) : undefined
  }

  return {
    capabilities: () => CAPABILITIES,
    async start(request, signal) {
      checkReferences(request)
      const { attempt_id } = request
      if (!renders.has(attempt_id)) {
        const begun = starting.get(attempt_id) ?? admit(request, signal).finally(() => starting.delete(attempt_id))
        starting.set(attempt_id, begun)
        await begun
      }
      return { attempt_id, instance }
    },
    async poll(ticket) {
      return find(ticket)?.state ?? { state: 'lost' }
    },
    async fetch(ticket, _output, signal) {
      const render = find(ticket)
      if (render?.state.state !== 'succeeded') throw new EngineError('permanent', 'The clip is no longer kept.')
      await stat(render.output_path)
      const file = createReadStream(render.output_path, { signal })
      file.once('end', () => keepFor(render, FETCHED_SECONDS))
      return Readable.toWeb(file) as ReadableStream<Uint8Array>
    },
    async cancel(ticket) {
      const render = find(ticket)
      if (render === undefined) return false
      const stops = render.state.state === 'running'
      await remove(render)
      return stops
    },
    async close() {
      await Promise.allSettled(starting.values())
      await Promise.all([...renders.values()].map(remove))
    },
  }
}

async function availableRunner(): Promise<FfmpegRunner> {
  try {
    return await chooseRunner()
  } catch (error) {
    throw error instanceof FfmpegError ? new EngineError('permanent', error.message, { cause: error }) : error
  }
}

function checkReferences({ inputs }: RenderRequest): void {
  const [shortest, longest] = REFERENCE_SECONDS
  for (const { role, probe } of inputs) {
    if (role !== 'reference_video' && role !== 'reference_audio') continue
    const seconds = probe.duration_seconds ?? 0
    if (seconds >= shortest && seconds <= longest) continue
    throw new EngineError('rejected', 'Reference clips and sounds last 2 to 15 seconds.', {
      subject: 'reference_media',
    })
  }
}

async function spool({ inputs }: RenderRequest, dir: string, signal: AbortSignal): Promise<SpooledInput[]> {
  const spooled: SpooledInput[] = []
  for (const [index, input] of inputs.entries()) {
    const path = join(dir, `input-${index}`)
    const bytes = Readable.fromWeb((await input.open()) as Parameters<typeof Readable.fromWeb>[0])
    await pipeline(bytes, createWriteStream(path), { signal })
    spooled.push({ role: input.role, path, probe: input.probe })
  }
  return spooled
}

type Prepared = { inputs: SpooledInput[]; dir: string; runner: FfmpegRunner; onFinished: (render: Render) => void }

function renderOf(request: RenderRequest, { inputs, dir, runner, onFinished }: Prepared): Render {
  const { job_id, attempt_id, original_prompt: prompt, seconds, width, height, seed } = request
  const output_path = join(dir, 'output.mp4')
  const seed_text = `${job_id}\n${seed}\n${prompt}`
  const task: RenderTask = {
    script: { prompt, seconds, size: { width, height }, seed_text, inputs },
    dir,
    output_path,
    runner,
  }
  const abort = new AbortController()
  const running = (progress: number): RenderState => ({ state: 'running', progress, next_poll_seconds: 1 })
  const render: Render = {
    attempt_id,
    abort,
    dir,
    output_path,
    state: running(0),
    expiry: null,
    async run() {
      try {
        await runChild(new URL('./storyboard/child.ts', import.meta.url), task, {
          signal: abort.signal,
          time_limit_seconds: 120 + 30 * seconds,
          on_progress: (progress) => {
            render.state = running(Math.min(99, Math.floor(progress * 100)))
          },
        })
        render.state = { state: 'succeeded', output: null }
      } catch (error) {
        if (abort.signal.aborted) return
        render.state = { state: 'failed', error: verdict(error) }
      }
      onFinished(render)
    },
  }
  return render
}

/** A child that died may live the next time; one that took too long will not be quicker. */
function verdict(error: unknown): EngineError {
  if (!(error instanceof ChildError)) return new EngineError('permanent', 'The renderer failed.', { cause: error })
  if (error.cause_name === 'UnreadableReference') {
    return new EngineError('rejected', error.message, { subject: 'reference_media', cause: error })
  }
  const kind = error.fault === 'died' ? 'transient' : 'permanent'
  return new EngineError(kind, `The renderer failed (${error.fault}).`, { cause: error })
}
