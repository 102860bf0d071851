import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import sharp from 'sharp'
import { EngineError } from '../../../server/engines/engine-error.ts'
import type {
  Capabilities,
  InputRole,
  JsonValue,
  RenderInput,
  RenderMode,
  RenderRequest,
  RenderState,
  VideoEngine,
} from '../../../server/engines/video/contract.ts'
import { readAll } from '../../../server/platform/outbound/exchange.ts'

export type EngineUnderTest = { engine: VideoEngine; model: string; close(): Promise<void> }

/**
 * What every video engine promises, run on one adapter. `open` gives a fresh engine that renders the shortest clip within a test's
 * time; two opened one after the other stand for the service before and after a restart.
 */
export function videoEngineContract(name: string, open: () => Promise<EngineUnderTest>): void {
  test(`${name}: declares capabilities that agree with each other`, () =>
    using(open, async ({ engine, model }) => assertCapabilities(engine.capabilities(model))))

  test(`${name}: renders text into an MP4 that can be fetched twice, and only reports progress from 0 to 99`, () =>
    using(open, async ({ engine, model }) => {
      const ticket = asStored(await engine.start(requestFor(engine, model), live()))
      const state = await pollToEnd(engine, ticket)
      assert.equal(state.state, 'succeeded')
      assert.ok(state.state === 'succeeded')
      for (let i = 0; i < 2; i++) {
        const clip = await readAll(await engine.fetch(ticket, asStored(state.output), live()))
        assert.equal(clip.toString('latin1', 4, 8), 'ftyp')
      }
    }))

  test(`${name}: takes every kind of input it declares`, () =>
    using(open, async ({ engine, model }) => {
      for (const mode of engine.capabilities(model).modes) {
        const ticket = asStored(await engine.start(requestFor(engine, model, await inputsOf(mode)), live()))
        await engine.cancel(ticket)
      }
    }))

  test(`${name}: refuses what it does not declare instead of dropping it`, () =>
    using(open, async ({ engine, model }) => {
      const { seconds, modes, references_max } = engine.capabilities(model)
      const tooLong = { ...requestFor(engine, model), seconds: seconds[1] + 1 }
      await assert.rejects(engine.start(tooLong, live()), isRejected)
      for (const mode of MODES.filter((mode) => !modes.has(mode)))
        await assert.rejects(engine.start(requestFor(engine, model, await inputsOf(mode)), live()), isRejected)
      const many = await Promise.all(
        Array.from({ length: references_max.images + 1 }, () => picture('reference_image')),
      )
      await assert.rejects(engine.start(requestFor(engine, model, many), live()), isRejected)
    }))

  test(`${name}: a ticket outlives the process that got it`, async () => {
    let stored: JsonValue = null
    await using(open, async ({ engine, model }) => {
      stored = asStored(await engine.start(requestFor(engine, model), live()))
    })
    await using(open, async ({ engine }) => {
      const state = await pollToEnd(engine, stored)
      assert.ok(state.state === 'succeeded' || state.state === 'lost', `ended as ${state.state}`)
    })
  })

  test(`${name}: rejects a ticket of another engine`, () =>
    using(open, async ({ engine }) => {
      await assert.rejects(engine.poll({ from: 'elsewhere' }, live()), EngineError)
      await assert.rejects(engine.poll(null, live()), EngineError)
    }))

  test(`${name}: a canceled render comes to an end`, () =>
    using(open, async ({ engine, model }) => {
      const ticket = asStored(await engine.start(requestFor(engine, model), live()))
      const stops = await engine.cancel(ticket)
      if (engine.capabilities(model).cancel === 'none') assert.equal(stops, false)
      const { state } = await pollToEnd(engine, ticket)
      assert.ok(['succeeded', 'failed', 'lost'].includes(state))
    }))

  test(`${name}: a start repeated with the same attempt begins no second render where the engine promises that`, () =>
    using(open, async ({ engine, model }) => {
      if (engine.capabilities(model).idempotency !== 'client_id') return
      const request = requestFor(engine, model)
      const first = asStored(await engine.start(request, live()))
      assert.deepEqual(asStored(await engine.start(request, live())), first)
      await engine.cancel(first)
    }))
}

/** The shortest clip the engine takes, of a prompt with dialogue. */
export function requestFor(engine: VideoEngine, model: string, inputs: RenderInput[] = []): RenderRequest {
  const prompt = 'A cat waves. <d>こんにちは、世界</d>'
  const id = `${Date.now()}${Math.random().toString(36).slice(2)}`
  return {
    job_id: `video_${id}`,
    attempt_id: `attempt_${id}`,
    model,
    prompt,
    original_prompt: prompt,
    seconds: engine.capabilities(model).seconds[0],
    aspect_ratio: '16:9',
    width: 1366,
    height: 768,
    seed: 7,
    inputs,
  }
}

/** A small real picture in a role. */
export async function picture(role: InputRole): Promise<RenderInput> {
  const create = { width: 320, height: 320, channels: 3 as const, background: '#2a9d8f' }
  const bytes = await sharp({ create }).png().toBuffer()
  return {
    role,
    media_type: 'image/png',
    size_bytes: bytes.length,
    probe: { kind: 'image', width: 320, height: 320, duration_seconds: null, video_codec: null, audio_codec: null },
    open: async () => ReadableStream.from([new Uint8Array(bytes)]),
    signedUrl: async (ttl = 900) => `https://kinora.example/files/file_1?ttl=${ttl}`,
  }
}

const MODES: RenderMode[] = ['text', 'first_frame', 'last_frame', 'both_frames', 'references']

async function inputsOf(mode: RenderMode): Promise<RenderInput[]> {
  if (mode === 'text') return []
  if (mode === 'references') return [await picture('reference_image')]
  if (mode === 'both_frames') return [await picture('last_frame'), await picture('first_frame')]
  return [await picture(mode)]
}

function assertCapabilities(capabilities: Capabilities): void {
  const { modes, seconds, references_max, aspect_ratios } = capabilities
  assert.ok(modes.has('text'))
  assert.ok(seconds[0] >= 1 && seconds[0] <= seconds[1])
  assert.ok(aspect_ratios.size > 0)
  if (modes.has('both_frames')) assert.ok(modes.has('first_frame') && modes.has('last_frame'))
  const { images, videos, audio, files } = references_max
  assert.equal(modes.has('references'), images + videos > 0)
  assert.ok(files <= images + videos + audio)
}

async function using(
  open: () => Promise<EngineUnderTest>,
  body: (subject: EngineUnderTest) => Promise<void>,
): Promise<void> {
  const subject = await open()
  try {
    await body(subject)
  } finally {
    await subject.close()
  }
}

async function pollToEnd(engine: VideoEngine, ticket: JsonValue): Promise<RenderState> {
  for (;;) {
    const state = await engine.poll(ticket, live())
    if (state.state !== 'running') return state
    const { progress = 0 } = state
    assert.ok(progress >= 0 && progress <= 99)
    await wait(Math.min(0.1, state.next_poll_seconds ?? 0.05) * 1000)
  }
}

/** As the database gives it back. */
function asStored(value: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue
}

function isRejected(error: unknown): boolean {
  return error instanceof EngineError && error.kind === 'rejected'
}

function live(): AbortSignal {
  return new AbortController().signal
}
