import { noAnswer } from '../../api/failure.ts'
import { openRequest } from '../../api/request.ts'

export type StreamEvent = { event: string | null; data: string }

/**
 * Posts a body and yields the server-sent events of the response without the closing `[DONE]`. Aborting the signal ends the
 * stream without an error. `onOpen` gets the response before its first event. Rejects with a `Failure` when refused or disconnected.
 */
export async function* streamEvents(
  path: string,
  body: unknown,
  signal: AbortSignal,
  onOpen?: (response: Response) => void,
): AsyncGenerator<StreamEvent> {
  const response = await openRequest('POST', path, { body, signal })
  onOpen?.(response)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += value.replaceAll('\r', '')
      const frames = rest.split('\n\n')
      rest = frames.pop()!
      for (const frame of frames) {
        const event = readFrame(frame)
        if (event?.data === '[DONE]') return
        if (event) yield event
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error instanceof TypeError ? noAnswer() : error
  } finally {
    void reader.cancel().catch(() => {})
  }
}

/** One frame of the stream; null for comments. */
function readFrame(frame: string): StreamEvent | null {
  let event: string | null = null
  const data: string[] = []
  for (const line of frame.split('\n')) {
    if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
    else if (line.startsWith('event:')) event = line.slice(6).trim()
  }
  return data.length === 0 ? null : { event, data: data.join('\n') }
}
