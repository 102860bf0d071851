import { REFUSALS } from './call-error.ts'
import type { CallOptions, LanguageModel, PromptMessage, StreamPart } from './model.ts'
import { warningError } from './refused.ts'

/**
 * Asks a package what it would leave out of a call, before the provider is called: packages say so only with the beginning of an answer, for
 * which the provider charges. `model` is one that `withoutServer` answers. Throws EngineError `rejected`, and what the package throws of
 * the call itself.
 */
export async function rehearse(model: LanguageModel, call: CallOptions): Promise<void> {
  const prompt = call.prompt.map(withoutBytes)
  const stream = await model.doStream({ ...call, prompt }).then(
    (answer) => answer.stream,
    // What fails for want of an answer says nothing about the call: the provider is asked then.
    (error: Error) => {
      if (REFUSALS.has(error.name)) throw error
      return null
    },
  )
  if (stream === null) return
  const reader = stream.getReader()
  const first = await reader.read().catch(() => null)
  await reader.cancel().catch(() => {})
  const part: StreamPart | undefined = first?.value
  const error = part?.type === 'stream-start' ? warningError(part.warnings) : null
  if (error !== null) throw error
}

/** A `fetch` that reaches nothing: every answer is empty. */
export const withoutServer: typeof fetch = async () =>
  new Response(new ReadableStream({ start: (controller) => controller.close() }), {
    headers: { 'content-type': 'text/event-stream' },
  })

/** The same message with a file's type in place of its bytes, which may be many. */
function withoutBytes(message: PromptMessage): PromptMessage {
  if (message.role !== 'user') return message
  const content = message.content.map((part) =>
    part.type === 'file' ? { ...part, data: { type: 'data' as const, data: 'AA==' } } : part,
  )
  return { role: 'user', content }
}
