import Type from 'typebox'
import { OpenaiClientOptions, openaiClient } from '../openai-client.ts'
import { callError, statusError, unreadableReply } from '../reply-error.ts'

/** A server of OpenAI's `/v1/audio/transcriptions`: the speech in a sound as text that moderation can judge. */
export const TranscriptionOptions = Type.Object(
  { ...OpenaiClientOptions, model: Type.String({ minLength: 1 }) },
  { additionalProperties: false },
)
export type TranscriptionOptions = Type.Static<typeof TranscriptionOptions>

export type TranscriptionEngine = {
  /** The server's name for the model; recorded for a sound without speech. */
  model: string
  /** The words of a WAV, blank when there are none. Throws EngineError for anything but an explicit text. */
  transcribe(wav: Uint8Array, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

/** Source: https://platform.openai.com/docs/api-reference/audio/createTranscription */
export function openaiTranscription(options: TranscriptionOptions): TranscriptionEngine {
  const client = openaiClient(options)
  const { model } = options
  return {
    model,
    async transcribe(wav, signal) {
      try {
        const body = await formOf(wav, model)
        const reply = await client.call({ method: 'POST', path: '/audio/transcriptions', body }, signal)
        if (reply.status !== 200) throw statusError(reply.status, reply.headers, reply.json)
        const text = (reply.json as { text?: unknown } | null | undefined)?.text
        if (typeof text !== 'string') throw unreadableReply('it holds no text')
        return text
      } catch (error) {
        throw callError(error)
      }
    },
    close: () => client.close(),
  }
}

async function formOf(wav: Uint8Array, model: string): Promise<{ content_type: string; data: Uint8Array }> {
  const form = new FormData()
  form.set('model', model)
  form.set('response_format', 'json')
  form.set('file', new Blob([new Uint8Array(wav)], { type: 'audio/wav' }), 'sound.wav')
  const encoded = new Response(form)
  const content_type = encoded.headers.get('content-type')!
  return { content_type, data: new Uint8Array(await encoded.arrayBuffer()) }
}
