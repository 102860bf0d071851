import Type from 'typebox'
import { Pool } from 'undici'
import { guardedFetch } from '../../ai-sdk/guarded-fetch.ts'
import { AiSdkOptions, providerSettings } from '../../ai-sdk/options.ts'
import { requireFactory, requireVersion } from '../../ai-sdk/package.ts'
import type { EngineEnv } from '../../engine-entry.ts'
import { EngineError, withReason } from '../../engine-error.ts'
import type { ChatEngine, ChatEvent, ChatRequest } from '../contract.ts'
import { fanOut } from '../fan-out.ts'
import { readWords } from '../server-words.ts'
import { SystemMessages } from '../system-messages.ts'
import { callFault, isThinkingMissing } from './call-error.ts'
import { encodeCallOptions } from './encode-request.ts'
import { WholeAnswer, withJsonReplies } from './json-reply.ts'
import type { CallOptions, LanguageModel, StreamPart } from './model.ts'
import { partReader, partsOfWhole } from './read-stream.ts'
import { rehearse, withoutServer } from './rehearse.ts'

/** `idle_seconds`: how long the server may be silent; `total_seconds`: how long an answer may take. */
export const AiSdkChatOptions = Type.Object(
  {
    ...AiSdkOptions,
    system_messages: SystemMessages,
    idle_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 3600 })),
    total_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 86_400 })),
  },
  { additionalProperties: false },
)
export type AiSdkChatOptions = Type.Static<typeof AiSdkChatOptions>

/** What a model of this engine may be listed with: providers report no probabilities in one form. */
export const AI_SDK_CARRIES = ['vision', 'video', 'audio', 'tools', 'reasoning', 'structured_outputs'] as const

/**
 * Models that do not speak chat completions, through a provider package of the AI SDK: Anthropic, Gemini and others. The package
 * only translates; its requests go through Kinora's client, to `base_url` alone. Several choices are one call each.
 * Throws StartError when the package is missing, or too old.
 * Source: docs/engines/ai-sdk.md.
 */
export function aiSdkChat(options: AiSdkChatOptions, env: Pick<EngineEnv, 'log' | 'upstream'> = {}): ChatEngine {
  const { origin, host, hostname } = new URL(options.base_url)
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1, allowH2: false, connectTimeout: CONNECT_MS })
  const limits = {
    idle_ms: (options.idle_seconds ?? env.upstream?.idle_seconds ?? 120) * 1000,
    total_ms: (options.total_seconds ?? env.upstream?.total_seconds ?? 900) * 1000,
  }
  const secrets = [options.api_key, ...Object.values(options.headers ?? {}), host, hostname]
  const factory = requireFactory(options.package, SETTING)
  const provider = factory(providerSettings(options, withJsonReplies(guardedFetch(origin, pool, limits)))) as Provider
  requireVersion(options.package, SETTING, provider.languageModel(options.model ?? 'any'))
  const rehearsal = factory(providerSettings(options, withoutServer)) as Provider

  /** The parts of an answer, also of one that comes as a whole. */
  async function streamedParts(call: CallOptions, model: string): Promise<AsyncIterable<StreamPart>> {
    try {
      const { stream } = await provider.languageModel(model).doStream(call)
      return stream as AsyncIterable<StreamPart> & ReadableStream<StreamPart>
    } catch (error) {
      if (!(error instanceof WholeAnswer)) throw error
      const replay = factory(providerSettings(options, async () => jsonReply(error.json))) as Provider
      return partsOfWhole(await replay.languageModel(model).doGenerate(call))
    }
  }

  async function* answer(request: ChatRequest, signal: AbortSignal): AsyncGenerator<readonly ChatEvent[], void> {
    const leaving = new AbortController()
    const reader = partReader()
    let begun = false
    try {
      const call = await encodeCallOptions(request, options, signal)
      await rehearse(rehearsal.languageModel(request.model), call)
      const abortSignal = AbortSignal.any([signal, leaving.signal])
      const ask = (each: CallOptions) => streamedParts({ ...each, abortSignal }, request.model)
      const parts = await ask(call).catch((thrown: unknown) => {
        if (call.reasoning === undefined || !isThinkingMissing(thrown)) throw thrown
        const { reasoning: _, ...without } = call
        return ask(without)
      })
      for await (const part of parts) {
        signal.throwIfAborted()
        const events = reader.read(part)
        if (events.length === 0) continue
        begun = true
        yield events
        if (reader.ended()) return
      }
      throw new EngineError('failed', 'The answer of the model server is incomplete.')
    } catch (thrown) {
      signal.throwIfAborted()
      const error = callFault(thrown, begun, readWords(request, [request.model, ...secrets]))
      if (error.needs_operator)
        env.log?.error('chat_engine_needs_operator', { engine: 'ai-sdk', detail: withReason(error) })
      throw error
    } finally {
      leaving.abort()
    }
  }

  return fanOut({
    fetches_urls: false,
    inputs: 'data',
    async generate(request, signal) {
      signal.throwIfAborted()
      const events = answer(request, signal)
      const first = await events.next()
      return resumed(first.value ?? [], events)
    },
    close: () => pool.destroy(),
  })
}

/** A provider as a package's factory makes it: language models by their name. */
type Provider = { languageModel(model: string): LanguageModel }

const SETTING = 'chat_models'

/** More than the streams one process can serve, so that no request waits for a connection. */
const CONNECTIONS = 4096
const CONNECT_MS = 10_000

/** The batches of an answer whose first one has been read. */
async function* resumed(
  first: readonly ChatEvent[],
  rest: AsyncGenerator<readonly ChatEvent[], void>,
): AsyncGenerator<readonly ChatEvent[], void> {
  try {
    yield first
    yield* rest
  } finally {
    await rest.return()
  }
}

function jsonReply(json: string): Response {
  return new Response(json, { headers: { 'content-type': 'application/json' } })
}
