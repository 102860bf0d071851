import type { FastifyReply } from 'fastify'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { abortOnLeaving } from '../../platform/http/abort-on-disconnect.ts'
import type { Lease } from '../../platform/http/body/byte-budget.ts'
import { DONE, openEventStream, type StreamTiming } from '../../platform/http/sse.ts'
import { nextTurn } from '../../platform/turns.ts'
import { frameOf, type ResponseEvent } from '../events/event.ts'
import type { ResponseRun } from '../run.ts'
import type { ResponseObject } from '../schema/response.ts'
import { followEvents } from '../stored/follow.ts'

/** Streams the events of a run. Frames of one batch are sent in one write: some clients need a frame in one piece. */
export async function streamRun(
  run: ResponseRun,
  { reply, left, timing }: { reply: FastifyReply; left: AbortController; timing: StreamTiming },
): Promise<FastifyReply> {
  const stream = openEventStream(reply, left, timing)
  try {
    let events: readonly ResponseEvent[] | null = run.first
    while (events && !left.signal.aborted) {
      const full = stream.write(framesOf(events))
      if (full) await full
      events = await run.next()
    }
    if (!left.signal.aborted) stream.end(DONE)
  } finally {
    await run.stop()
  }
  return reply
}

function framesOf(events: readonly ResponseEvent[]): string {
  let frames = ''
  for (const event of events) frames += frameOf(event)
  return frames
}

/** How stored events are streamed. `stopping` aborts when the service stops: followers then have a few seconds to see the end. */
export type StreamOptions = { timing: StreamTiming; stopping: AbortSignal }
type Streaming = StreamOptions & { reply: FastifyReply }

/** Streams of responses that have not ended by then are cut off; clients resume them by id. */
const STOP_SECONDS = 5

/** Streams a background response after the event `after` (-1: all of it), then live. A client that disconnects ends only its stream. */
export function streamBackground(
  ctx: Pick<Context, 'db' | 'changes' | 'log'>,
  streaming: Streaming,
  principal: Principal,
  from: { response: ResponseObject; after: number; lease: Lease },
): Promise<FastifyReply> {
  return streamStored(ctx, streaming, (left) => followEvents(ctx, principal, from, left))
}

/**
 * Streams stored events, those of a batch in one write, and the end mark. Many streams of one organization take turns with the work of
 * others. An error breaks the connection off without the end mark.
 */
export async function streamStored(
  { log }: Pick<Context, 'log'>,
  { reply, timing, stopping }: Streaming,
  eventsUntil: (left: AbortSignal) => Iterable<ResponseEvent[]> | AsyncIterable<ResponseEvent[]>,
): Promise<FastifyReply> {
  const left = abortOnLeaving(reply)
  const stream = openEventStream(reply, left, timing)
  const cutOff = cutOffAtStop(reply, left, stopping)
  try {
    for await (const events of eventsUntil(left.signal)) {
      await nextTurn()
      const full = stream.write(framesOf(events))
      if (full) await full
      if (left.signal.aborted) return reply
    }
    if (!left.signal.aborted) stream.end(DONE)
  } catch (error) {
    log.error('stream_failed', { request_id: reply.request.id, error })
    reply.raw.destroy()
  } finally {
    cutOff.clear()
  }
  return reply
}

function cutOffAtStop(reply: FastifyReply, left: AbortController, stopping: AbortSignal): { clear(): void } {
  let timer: NodeJS.Timeout | undefined
  const start = () => {
    timer = setTimeout(() => {
      left.abort()
      reply.raw.destroy()
    }, STOP_SECONDS * 1000)
  }
  if (stopping.aborted) start()
  else stopping.addEventListener('abort', start, { once: true })
  return {
    clear() {
      clearTimeout(timer)
      stopping.removeEventListener('abort', start)
    },
  }
}
