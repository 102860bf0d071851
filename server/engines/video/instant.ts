import { readFile } from 'node:fs/promises'
import Type from 'typebox'
import { EngineError } from '../engine-error.ts'
import type { Capabilities, RenderState, Ticket, VideoEngine } from './contract.ts'
import { rejectUnsupportedInput } from './reject-unsupported.ts'

const FAULTS = ['rejected', 'rejected_reference', 'moderation', 'transient', 'permanent'] as const

const Conduct = {
  /** What `start` throws. */
  start: Type.Optional(Type.Enum([...FAULTS])),
  /** How the render ends. `endless` never ends; `unknown` makes every poll throw. */
  render: Type.Optional(Type.Enum([...FAULTS, 'lost', 'endless', 'unknown'])),
  /** Polls answered with `running` before the end. */
  polls: Type.Optional(Type.Integer({ minimum: 0 })),
}

/** `script`: the first entry whose text occurs in the prompt as submitted decides; without one the top-level conduct does. */
export const InstantOptions = Type.Object(
  {
    kind: Type.Literal('instant'),
    ...Conduct,
    script: Type.Optional(
      Type.Array(
        Type.Object({ prompt_includes: Type.String({ minLength: 1 }), ...Conduct }, { additionalProperties: false }),
      ),
    ),
  },
  { additionalProperties: false },
)
export type InstantOptions = Type.Static<typeof InstantOptions>

/**
 * A fake that ships: answers at once with one tiny real clip (H.264 1366×768, AAC, 15 s), whatever was asked. For development, tests
 * and benchmarks. A start repeated with the same attempt gives the same ticket, and any process can go on polling it.
 */
export function instantVideo(options: InstantOptions): VideoEngine {
  const polled = new Map<string, number>()
  const stopped = new Set<string>()
  let clip: Promise<Buffer> | null = null

  return {
    capabilities: () => EVERYTHING,

    async start(request) {
      rejectUnsupportedInput(request, EVERYTHING)
      const conduct =
        options.script?.find((entry) => request.original_prompt.includes(entry.prompt_includes)) ?? options
      if (conduct.start !== undefined) throw fault(conduct.start)
      return { attempt_id: request.attempt_id, render: conduct.render ?? 'succeeded', polls: conduct.polls ?? 0 }
    },

    async poll(ticket): Promise<RenderState> {
      const { attempt_id, render, polls } = readTicket(ticket)
      if (stopped.has(attempt_id))
        return { state: 'failed', error: new EngineError('transient', 'The render was canceled.') }
      const seen = polled.get(attempt_id) ?? 0
      if (render === 'endless' || seen < polls) {
        polled.set(attempt_id, seen + 1)
        return {
          state: 'running',
          progress: render === 'endless' ? 50 : Math.floor((seen * 99) / polls),
          next_poll_seconds: 0,
        }
      }
      polled.delete(attempt_id)
      if (render === 'succeeded') return { state: 'succeeded', output: { attempt_id } }
      if (render === 'lost') return { state: 'lost' }
      if (render === 'unknown') throw new EngineError('transient', 'The engine did not answer.')
      return { state: 'failed', error: fault(render) }
    },

    async fetch() {
      clip ??= readFile(new URL('./instant.mp4', import.meta.url))
      const bytes = await clip
      return new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(bytes)
          controller.close()
        },
      })
    },

    async cancel(ticket) {
      stopped.add(readTicket(ticket).attempt_id)
      if (stopped.size > STOPPED_MAX) stopped.delete(stopped.values().next().value!)
      return true
    },
  }
}

type Fault = (typeof FAULTS)[number]
type InstantTicket = { attempt_id: string; render: Fault | 'succeeded' | 'lost' | 'endless' | 'unknown'; polls: number }

/** Canceled attempts that are remembered: the host stops polling a job it canceled, so the set only has to outlive a late poll. */
const STOPPED_MAX = 1000

const EVERYTHING: Capabilities = {
  modes: new Set(['text', 'first_frame', 'last_frame', 'both_frames', 'references']),
  references_max: { images: 8, videos: 2, audio: 3, files: 13 },
  seconds: [4, 15],
  aspect_ratios: new Set(['Auto', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16']),
  auto_aspect_ratio: true,
  media: 'bytes',
  audio_out: true,
  cancel: 'any',
  idempotency: 'client_id',
  embedded: true,
}

function readTicket(ticket: Ticket): InstantTicket {
  if (ticket === null || typeof ticket !== 'object' || Array.isArray(ticket) || typeof ticket.attempt_id !== 'string')
    throw new EngineError('permanent', 'Not a ticket of this engine.')
  return ticket as InstantTicket
}

function fault(kind: Fault): EngineError {
  if (kind === 'rejected_reference')
    return new EngineError('rejected', 'The reference media was refused.', { subject: 'reference_media' })
  return new EngineError(kind, `The engine answered with a scripted fault: ${kind}.`)
}
