import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ChildrenBusy, enterChild, isChildQueueFull } from '../../../media/children/concurrency-limit.ts'
import { ChildError, runChild } from '../../../media/children/run.ts'
import { chooseRunner, FfmpegError, type FfmpegRunner } from '../../../media/ffmpeg/choose.ts'
import { runFfmpeg } from '../../../media/ffmpeg/run.ts'
import { isRecord } from '../../../platform/json/record.ts'
import { EngineError } from '../../engine-error.ts'
import {
  ASPECT_RATIOS,
  type Capabilities,
  type RenderRequest,
  type RenderState,
  type Ticket,
  type VideoEngine,
} from '../contract.ts'
import { rejectUnsupportedInput } from '../reject-unsupported.ts'
import type { DrawTask } from './child.ts'
import type { SpooledInput } from './compose.ts'
import { openRenders, type Render, type Work } from './renders.ts'
import { renderRun, type Timeline } from './timeline.ts'

export type StoryboardOptions = {
  /** Holds inputs, drawings and finished clips until the clips are fetched. */
  work_dir: string
  /** Default: the FFmpeg found on the machine. */
  runner?: FfmpegRunner
}

/** How long a fetched clip is kept, in case the host could not store it. */
const FETCHED_SECONDS = 120

/** Retry delay of a render for which the queue had no room. */
const BUSY_SECONDS = 15

/** Reference clips and sounds last 2 to 15 s; muxers round. Source: contract 5.1. */
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
  embedded: true,
}

/**
 * The embedded animatic renderer: draws the prompt as a moving storyboard with captions, frames, references and sound, in one child process after the other.
 * One `attempt_id` is one render: starting it again returns the same ticket. After a restart every ticket is `lost`.
 */
export function storyboardVideo(options: StoryboardOptions): VideoEngine {
  const instance = randomUUID()
  const renders = openRenders({ work_dir: options.work_dir })

  const find = (ticket: Ticket): Render | undefined => {
    const { attempt_id, instance: of } = readTicket(ticket)
    return of === instance ? renders.find(attempt_id) : undefined
  }

  return {
    capabilities: () => CAPABILITIES,
    async start(request, signal) {
      rejectUnsupportedInput(request, CAPABILITIES)
      checkReferences(request)
      if (renders.find(request.attempt_id) === undefined) requireRoom()
      await renders.add(request.attempt_id, async (dir) => {
        const runner = options.runner ?? (await availableRunner())
        return workOf(request, { runner, inputs: await spool(request, dir, signal) })
      })
      return { attempt_id: request.attempt_id, instance }
    },
    async poll(ticket) {
      return find(ticket)?.state ?? { state: 'lost' }
    },
    async fetch(ticket, _output, signal) {
      const render = find(ticket)
      if (render?.state.state !== 'succeeded') throw new EngineError('permanent', 'The clip is no longer available.')
      const file = await open(outputIn(render.dir))
      const bytes = createReadStream('', { fd: file, signal })
      bytes.once('end', () => renders.keepFor(render, FETCHED_SECONDS))
      return Readable.toWeb(bytes) as ReadableStream<Uint8Array>
    },
    async cancel(ticket) {
      if (readTicket(ticket).instance !== instance)
        throw new EngineError('transient', 'Another process is running this render.')
      const render = find(ticket)
      if (render !== undefined) await renders.remove(render)
      return true
    },
    close: () => renders.close(),
  }
}

function readTicket(ticket: Ticket): { attempt_id: string; instance: string } {
  if (isRecord(ticket)) {
    const { attempt_id, instance } = ticket
    if (typeof attempt_id === 'string' && typeof instance === 'string') return { attempt_id, instance }
  }
  throw new EngineError('permanent', 'The ticket is of another engine.')
}

/** Leaves a render with the host, which starts it again later, while too many others are waiting. */
function requireRoom(): void {
  if (!isChildQueueFull('render')) return
  throw new EngineError('transient', 'Too many renders are waiting.', {
    engine_code: 'busy',
    retry_after_seconds: BUSY_SECONDS,
  })
}

function checkReferences({ inputs }: RenderRequest): void {
  const [shortest, longest] = REFERENCE_SECONDS
  for (const { role, probe } of inputs) {
    if (role !== 'reference_video' && role !== 'reference_audio') continue
    const seconds = probe.duration_seconds ?? 0
    if (seconds >= shortest && seconds <= longest) continue
    throw new EngineError('rejected', 'Reference clips and sounds must last 2 to 15 seconds.', {
      subject: 'reference_media',
    })
  }
}

async function availableRunner(): Promise<FfmpegRunner> {
  try {
    return await chooseRunner()
  } catch (error) {
    throw error instanceof FfmpegError ? new EngineError('permanent', error.message, { cause: error }) : error
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

function outputIn(dir: string): string {
  return join(dir, 'output.mp4')
}

/** Share of the progress that is reported for drawing. */
const DRAWN = 0.08

function workOf(request: RenderRequest, { runner, inputs }: { runner: FfmpegRunner; inputs: SpooledInput[] }): Work {
  const { job_id, original_prompt: prompt, seconds, width, height, seed } = request
  const script = { prompt, seconds, size: { width, height }, seed_text: `${job_id}\n${seed}\n${prompt}`, inputs }
  return async (render): Promise<RenderState> => {
    const { dir } = render
    const { signal } = render.abort
    const limits = { signal, has_slot: true, time_limit_seconds: 120 + 30 * seconds }
    const onProgress = (progress: number) => {
      render.state = { state: 'running', progress: Math.min(99, Math.floor(progress * 100)), next_poll_seconds: 1 }
    }
    let leave: (() => void) | undefined
    try {
      // For both children: the drawings of renders that wait for the second one would fill the disk.
      leave = await enterChild('render', { signal })
      const task: DrawTask = { script, dir }
      const timeline = await runChild<Timeline>(new URL('./child.ts', import.meta.url), task, limits)
      onProgress(DRAWN)
      await runFfmpeg(renderRun(timeline, outputIn(dir)), {
        ...limits,
        runner,
        work_dir: dir,
        on_progress: (progress) => onProgress(DRAWN + (1 - DRAWN) * progress),
      })
      return { state: 'succeeded', output: null }
    } catch (error) {
      return { state: 'failed', error: failureOf(error, inputs) }
    } finally {
      leave?.()
    }
  }
}

/** A child that crashed may succeed when retried; one that exceeded its time limit will not. */
function failureOf(error: unknown, inputs: readonly SpooledInput[]): EngineError {
  if (error instanceof ChildrenBusy)
    return new EngineError('transient', 'Too many renders are waiting.', { cause: error })
  if (!(error instanceof ChildError || error instanceof FfmpegError))
    return new EngineError('permanent', 'The renderer failed.', { cause: error })
  const unreadable = unreadableReference(error, inputs)
  if (unreadable !== null) return new EngineError('rejected', unreadable, { subject: 'reference_media', cause: error })
  const kind = error.fault === 'died' ? 'transient' : 'permanent'
  return new EngineError(kind, `The renderer failed (${error.fault}).`, { cause: error })
}

function unreadableReference(error: ChildError | FfmpegError, inputs: readonly SpooledInput[]): string | null {
  if (error instanceof ChildError) return error.cause_name === 'UnreadableReference' ? error.message : null
  const has_media = inputs.some(({ role }) => role === 'reference_video' || role === 'reference_audio')
  return error.fault === 'failed' && has_media ? 'A reference clip or sound cannot be decoded.' : null
}
