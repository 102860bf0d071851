/** An event of a response as a client reads it. */
// biome-ignore lint/suspicious/noExplicitAny: events have many shapes.
export type ResponseEvent = { type: string; sequence_number: number; [member: string]: any }

/** The events of a whole stream. Throws on a frame that is none, on a name that is not the type, and without the end mark. */
export function readEvents(text: string): ResponseEvent[] {
  if (!text.endsWith('data: [DONE]\n\n')) throw new Error(`stream without its end: ${text.slice(-80)}`)
  return readFrames(text.slice(0, -'data: [DONE]\n\n'.length))
}

/** The events of the beginning of a stream that ends with a whole frame. */
export function readFrames(text: string): ResponseEvent[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '' && frame !== ': keepalive')
    .map((frame) => {
      const [, name, data] = /^event: (\S+)\ndata: ([^\n]+)$/.exec(frame) ?? []
      if (data === undefined) throw new Error(`not an event: ${frame.slice(0, 80)}`)
      const event = JSON.parse(data) as ResponseEvent
      if (event.type !== name) throw new Error(`${name} holds ${event.type}`)
      return event
    })
}
