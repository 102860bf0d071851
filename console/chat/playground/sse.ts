import { noAnswer } from '../../api/failure.ts'

/** The data of the server-sent events of a response, without the closing `[DONE]`. Rejects with a `Failure` when the connection is lost. */
export async function* eventsOf(response: Response): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => Promise.reject(noAnswer()))
      if (done) return
      rest += value.replaceAll('\r', '')
      const frames = rest.split('\n\n')
      rest = frames.pop()!
      for (const frame of frames) {
        const data = dataOf(frame)
        if (data === '[DONE]') return
        if (data !== '') yield data
      }
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}

/** Empty for comments. */
function dataOf(frame: string): string {
  const lines = frame.split('\n').filter((line) => line.startsWith('data:'))
  return lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n')
}
