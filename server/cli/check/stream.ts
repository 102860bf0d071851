/** An event as far as a check looks into it. `done` is the end mark. */
export type StreamEvent = {
  type: string
  error?: { code: string | null; message: string } | null
  response?: { id: string; error?: { code: string; message: string } | null }
}

/** What one read of a stream brought, so many seconds after the request. */
export type Arrival = { at_seconds: number; events: StreamEvent[] }

/** Reads server-sent events as they come. `started`: when the request was sent, by `performance.now()`. */
export async function* arrivalsOf(response: Response, started: number): AsyncGenerator<Arrival> {
  let rest = ''
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (rest + text).split(/\r?\n\r?\n/)
    rest = frames.pop()!
    const events = frames.flatMap(eventOf)
    if (events.length > 0) yield { at_seconds: (performance.now() - started) / 1000, events }
  }
}

export function eventsOf(arrivals: readonly Arrival[]): StreamEvent[] {
  return arrivals.flatMap(({ events }) => events)
}

/** Few events at a time, over a good part of the time that the answer took. */
export function inPieces(arrivals: readonly Arrival[]): boolean {
  const [first, last] = [arrivals[0], arrivals.at(-1)]
  if (!first || !last) return false
  const spread_seconds = last.at_seconds - first.at_seconds
  return eventsOf(arrivals).length <= 3 * arrivals.length && spread_seconds > last.at_seconds / 4
}

/** None for a comment. */
function eventOf(frame: string): StreamEvent[] {
  const data = /^data: ?(.*)$/m.exec(frame)?.[1]
  if (data === undefined) return []
  if (data === '[DONE]') return [{ type: 'done' }]
  const event = JSON.parse(data) as Partial<StreamEvent>
  return [{ ...event, type: event.type ?? 'chunk' }]
}
