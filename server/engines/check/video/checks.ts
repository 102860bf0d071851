import assert from 'node:assert/strict'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { SHORT_EDGE } from '../../../media/aspect.ts'
import { probeMedia } from '../../../media/probe/probe.ts'
import { EngineError } from '../../engine-error.ts'
import type { Capabilities, JsonValue, RenderRequest, RenderState, VideoEngine } from '../../video/contract.ts'
import { type Check, NotApplicable, refuses } from '../check.ts'
import { inputsOf, picture, RENDER_MODES, requestFor } from './request.ts'

/** `poll_seconds`: the longest pause between two polls. `serves_files`: whether the engine can fetch files by the URLs it is given. */
export type VideoSubject = { engine: VideoEngine; model: string; poll_seconds: number; serves_files: boolean }

/** What every video engine promises, from what costs nothing to what costs most: the contract of adapters. */
export const VIDEO_CHECKS: ReadonlyArray<Check<VideoSubject>> = [
  {
    title: 'declares capabilities that agree with each other',
    level: 'must',
    starts: 'nothing',
    async run({ engine, model }) {
      const can = engine.capabilities(model)
      assertCapabilities(can)
      return `${[...can.modes].join(', ')}; ${can.seconds.join(' to ')} s; cancel: ${can.cancel}`
    },
  },
  {
    title: 'refuses what it does not declare instead of dropping it',
    level: 'must',
    starts: 'nothing',
    async run({ engine, model }, signal) {
      const { seconds, modes, references_max } = engine.capabilities(model)
      const start = (request: RenderRequest, what: string) => refuses(engine.start(request, signal), what, isRejected)
      await start({ ...requestFor(engine, model), seconds: seconds[1] + 1 }, 'a clip that is too long')
      for (const mode of RENDER_MODES.filter((mode) => !modes.has(mode)))
        await start(requestFor(engine, model, await inputsOf(mode)), `a render of the mode ${mode}`)
      const many = Array.from({ length: references_max.images + 1 }, () => picture('reference_image'))
      await start(requestFor(engine, model, await Promise.all(many)), `${many.length} reference images`)
      return undefined
    },
  },
  {
    title: 'rejects a ticket of another engine',
    level: 'must',
    starts: 'nothing',
    async run({ engine }, signal) {
      await refuses(engine.poll({ from: 'elsewhere' }, signal), 'a ticket of another engine')
      await refuses(engine.poll(null, signal), 'an empty ticket')
      return undefined
    },
  },
  {
    title: 'renders text into an MP4 that can be fetched twice, and only reports progress from 0 to 99',
    level: 'must',
    starts: 'a render',
    async run(subject, signal) {
      const { engine, model } = subject
      const request = requestFor(engine, model)
      return withRender(subject, request, signal, async (ticket) => {
        const { state, unknown } = await pollToEnd(subject, ticket, signal)
        assert.ok(state.state === 'succeeded', `the render ended as ${describeEnd(state)}`)
        const output = asStored(state.output)
        await inspectClip(engine, { ticket, output, request }, signal)
        const facts = await inspectClip(engine, { ticket, output, request }, signal)
        return unknown.length === 0 ? facts : `${facts}; status words that are not known: ${unknown.join(', ')}`
      })
    },
  },
  {
    title: 'a canceled render comes to an end',
    level: 'must',
    starts: 'a render',
    async run(subject, signal) {
      const { engine, model } = subject
      return withRender(subject, requestFor(engine, model), signal, async (ticket) => {
        const stops = await engine.cancel(ticket, signal)
        const { cancel } = engine.capabilities(model)
        if (cancel === 'none') assert.equal(stops, false, 'a render that cannot be canceled is reported as stopped')
        const { state } = (await pollToEnd(subject, ticket, signal)).state
        return stops ? `it was stopped, and is ${state}` : `it went on, and is ${state}`
      })
    },
  },
  {
    title: 'a start repeated with the same attempt begins no second render',
    level: 'must',
    starts: 'a render',
    async run(subject, signal) {
      const { engine, model } = subject
      const { idempotency } = engine.capabilities(model)
      if (idempotency !== 'client_id') throw new NotApplicable('the protocol does not allow it')
      const request = requestFor(engine, model)
      return withRender(subject, request, signal, async (first) => {
        assert.deepEqual(asStored(await engine.start(request, signal)), first)
        return undefined
      })
    },
  },
  {
    title: 'takes every kind of input it declares',
    level: 'must',
    starts: 'a render for each kind of input',
    async run(subject, signal) {
      const { engine, model } = subject
      const { modes, media } = engine.capabilities(model)
      if (media === 'signed_url' && modes.size > 1 && !subject.serves_files) throw new NotApplicable(FETCHED_BY_ENGINE)
      for (const mode of modes)
        await withRender(subject, requestFor(engine, model, await inputsOf(mode)), signal, async () => undefined)
      return [...modes].join(', ')
    },
  },
]

/** What a real engine shows besides. */
export const LIVE_VIDEO_CHECKS: ReadonlyArray<Check<VideoSubject>> = [
  ...VIDEO_CHECKS,
  {
    title: 'a broken picture is refused, or fails the render',
    level: 'should',
    starts: 'a render',
    async run(subject, signal) {
      const { engine, model } = subject
      const { modes, media } = engine.capabilities(model)
      if (!modes.has('first_frame')) throw new NotApplicable('it takes no frames')
      if (media === 'signed_url' && !subject.serves_files) throw new NotApplicable(FETCHED_BY_ENGINE)
      const request = requestFor(engine, model, [await picture('first_frame', 0.5)])
      const end = await withRender(
        subject,
        request,
        signal,
        async (ticket) => (await pollToEnd(subject, ticket, signal)).state,
      ).catch((error: unknown) => error)
      signal.throwIfAborted()
      if (end instanceof EngineError) {
        assert.ok(isRejected(end), `it was refused as ${end.kind}, as if another try could succeed`)
        return 'it was refused at the start'
      }
      if (end instanceof Error) throw end
      const { state } = end as RenderState
      assert.ok(state === 'failed', `the render is ${state}: half a picture counts as a picture`)
      return 'the render failed'
    },
  },
  {
    title: 'a render that it never began is unknown to it',
    level: 'should',
    starts: 'a render',
    async run(subject, signal) {
      const { engine, model } = subject
      return withRender(subject, requestFor(engine, model), signal, async (ticket) => {
        const other = otherTicket(ticket)
        if (other === null) throw new NotApplicable('its tickets hold no id')
        const { state } = await engine.poll(other, signal)
        assert.ok(state === 'lost', `it is ${state}: a render that the engine lost would be waited for`)
        return undefined
      })
    },
  },
]

const FETCHED_BY_ENGINE = 'the engine fetches files from the running service; try it there with `kinora render`'
/** Engines render whole groups of frames. Source: docs/states.md. */
const LENGTH_MIN = 0.8
const POLL_SECONDS = 2

/** Starts a render and cancels it when `body` has ended: what still runs costs. */
async function withRender<T>(
  { engine }: VideoSubject,
  request: RenderRequest,
  signal: AbortSignal,
  body: (ticket: JsonValue) => Promise<T>,
): Promise<T> {
  const ticket = asStored(await engine.start(request, signal))
  try {
    return await body(ticket)
  } finally {
    await engine.cancel(ticket).catch(() => undefined)
  }
}

/** `unknown`: the status words on the way that no engine was known to have. */
async function pollToEnd(
  { engine, poll_seconds }: VideoSubject,
  ticket: JsonValue,
  signal: AbortSignal,
): Promise<{ state: RenderState; unknown: string[] }> {
  const unknown = new Set<string>()
  for (;;) {
    const state = await engine.poll(ticket, signal)
    if (state.state !== 'running') return { state, unknown: [...unknown] }
    const { progress = 0, next_poll_seconds = POLL_SECONDS, unknown_status } = state
    if (unknown_status !== undefined) unknown.add(unknown_status)
    assert.ok(progress >= 0 && progress <= 99, `it reports a progress of ${progress} %`)
    await wait(Math.min(poll_seconds, next_poll_seconds) * 1000, undefined, { signal })
  }
}

/** A ticket as the engine could have given for another render: every id in it has its last digits and letters exchanged. */
function otherTicket(ticket: JsonValue): JsonValue | null {
  const { id, request_id, prompt_id } = (ticket ?? {}) as Record<string, unknown>
  const own = [id, request_id, prompt_id].find((each) => typeof each === 'string')
  if (typeof own !== 'string') return null
  const other = own.slice(0, -4) + own.slice(-4).replaceAll(/[0-9a-z]/gi, (each) => (each === '0' ? '1' : '0'))
  return JSON.parse(JSON.stringify(ticket).replaceAll(own, other)) as JsonValue
}

function describeEnd(state: RenderState): string {
  if (state.state !== 'failed') return state.state
  const { kind, message, engine_code } = state.error
  return `failed: ${message} [${kind}]${engine_code === undefined ? '' : ` (${engine_code})`}`
}

/** Downloads a clip and says what it is, and what of it would be repaired. */
async function inspectClip(
  engine: VideoEngine,
  { ticket, output, request }: { ticket: JsonValue; output: JsonValue; request: RenderRequest },
  signal: AbortSignal,
): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'kinora-check-'))
  try {
    const path = join(dir, 'clip')
    await pipeline(await engine.fetch(ticket, output, signal), createWriteStream(path))
    const { media_type, result, tracks, plays_everywhere } = await probeMedia(path, 'video', { whole: true, signal })
    const seconds = tracks.video_seconds[0] ?? 0
    assert.ok(
      seconds >= request.seconds * LENGTH_MIN,
      `the clip is ${seconds.toFixed(2)} s long, of ${request.seconds} s; less than 80 % fails the job`,
    )
    const repaired = [
      ...(media_type === 'video/mp4' ? [] : ['not an MP4']),
      ...(plays_everywhere ? [] : ['a codec or profile that not every browser plays']),
      ...(Math.min(result.width ?? 0, result.height ?? 0) === SHORT_EDGE
        ? []
        : [`a short edge that is not ${SHORT_EDGE}`]),
      ...(result.audio_codec === 'aac' ? [] : [result.audio_codec === null ? 'no sound' : 'sound that is not AAC']),
    ]
    const facts = `${result.width}x${result.height}, ${seconds.toFixed(2)} s`
    return repaired.length === 0 ? facts : `${facts}; repaired by the service: ${repaired.join(', ')}`
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

function assertCapabilities(capabilities: Capabilities): void {
  const { modes, seconds, references_max, aspect_ratios } = capabilities
  assert.ok(modes.has('text'), 'text alone is not among its modes')
  assert.ok(seconds[0] >= 1 && seconds[0] <= seconds[1], `clips of ${seconds.join(' to ')} seconds`)
  assert.ok(aspect_ratios.size > 0, 'no aspect ratio')
  if (modes.has('both_frames'))
    assert.ok(modes.has('first_frame') && modes.has('last_frame'), 'both frames, but not each')
  const { images, videos, audio, files } = references_max
  assert.equal(modes.has('references'), images + videos > 0, 'references, but none of any kind')
  assert.ok(files <= images + videos + audio, 'more references in all than of all kinds')
}

/** As the database gives it back. */
function asStored(value: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue
}

function isRejected(error: EngineError): boolean {
  return error.kind === 'rejected'
}
