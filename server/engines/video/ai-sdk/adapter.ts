import Type from 'typebox'
import { Pool } from 'undici'
import { isRecord } from '../../../platform/json/record.ts'
import { engineClient } from '../../../platform/outbound/client.ts'
import { StartError } from '../../../platform/start-error.ts'
import { outboundBehind } from '../../ai-sdk/errors.ts'
import { guardedFetch } from '../../ai-sdk/guarded-fetch.ts'
import { AiSdkOptions, providerSettings, settingsMistakes } from '../../ai-sdk/options.ts'
import { requireFactory, requireVersion } from '../../ai-sdk/package.ts'
import { Origin } from '../../base-url.ts'
import type { EntryMistake } from '../../engine-entry.ts'
import { EngineError } from '../../engine-error.ts'
import { unreadableReply } from '../../reply-error.ts'
import { CapabilityOptions, capabilityMistakes, narrowCapabilities, type Protocol } from '../capabilities.ts'
import { arkDialect } from '../content-tasks/dialects/ark.ts'
import { minimaxDialect } from '../content-tasks/dialects/minimax.ts'
import { ASPECT_RATIOS, type JsonValue, type Ticket, type VideoEngine } from '../contract.ts'
import { rejectUnsupportedInput } from '../reject-unsupported.ts'
import { findVideoUrl } from '../reply/clip-url.ts'
import type { ProtocolWords } from '../reply/complaint.ts'
import { openClip } from '../reply/open-clip.ts'
import { refuseShortened } from '../reply/read.ts'
import { packageError } from './call-error.ts'
import { encodeStart } from './encode-start.ts'
import { type Heard, listening } from './heard.ts'
import type { AiSdkVideoModel, Video, VideoModelStatus } from './model.ts'
import { stateOf, thrownState } from './state.ts'

const Count = Type.Optional(Type.Integer({ minimum: 0 }))

/**
 * `inputs` are those that the model takes; without them it is given text alone, since a package drops others with no more than a warning.
 * `resolution` is what the model is asked for, as width and height; `generate_audio`, whether it is asked for sound or not, for packages that
 * know the question. `ratio_with_frames`: false for a model that takes its ratio from the frames and warns of another. `input_transport`: files
 * as bytes, or as signed URLs.
 */
export const AiSdkVideoOptions = Type.Object(
  {
    ...AiSdkOptions,
    ...CapabilityOptions,
    references_max: Type.Optional(Type.Object({ images: Count, videos: Count }, { additionalProperties: false })),
    resolution: Type.Optional(Type.String({ pattern: '^\\d+x\\d+$', patternErrorMessage: 'must be such as 1280x720' })),
    generate_audio: Type.Optional(Type.Boolean()),
    ratio_with_frames: Type.Optional(Type.Boolean()),
    input_transport: Type.Optional(Type.Enum(['data', 'url'])),
    signed_url_ttl_seconds: Type.Optional(Type.Integer({ minimum: 60 })),
    output_origins: Type.Optional(Type.Array(Origin)),
    start_timeout_seconds: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
)
export type AiSdkVideoOptions = Type.Static<typeof AiSdkVideoOptions>

export function aiSdkVideoMistakes(options: AiSdkVideoOptions): EntryMistake[] {
  return [...settingsMistakes(options), ...capabilityMistakes(options, protocolOf(options), 'The AI SDK')]
}

/**
 * Video models of the AI SDK's provider packages that can be started and asked how they are: Veo, MiniMax and others. The package only
 * translates; its requests go through Kinora's client, to the origin of `base_url` alone. A warning of the package is a rejection: what it
 * warns of would be missing from the clip. Throws StartError when the package is missing, too old, or renders within one call only.
 * Source: docs/engines/ai-sdk-video.md.
 */
export function aiSdkVideo(options: AiSdkVideoOptions): VideoEngine {
  const { origin } = new URL(options.base_url)
  const start_ms = (options.start_timeout_seconds ?? START_SECONDS) * 1000
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1, allowH2: false, connectTimeout: CONNECT_MS })
  const guarded = guardedFetch(origin, pool, { idle_ms: start_ms, total_ms: start_ms })
  const modelOf = openModels(options, guarded)
  requireVersion(options.package, SETTING, modelOf(options.model ?? 'any', { reply: null }))
  // Outputs bring their own credential in the URL, where they need one.
  const client = engineClient({ base_url: origin })
  const capabilities = narrowCapabilities(protocolOf(options), { inputs: [], ...options })
  const byHeader = capabilities.idempotency === 'header'
  const words = WORDS[options.package] ?? {}

  async function statusOf(ticket: Ticket, heard: Heard, signal: AbortSignal): Promise<VideoModelStatus> {
    const { model, operation } = readTicket(ticket)
    return modelOf(model, heard).doStatus({ operation, abortSignal: signal })
  }

  return {
    capabilities: () => capabilities,

    async start(request, signal) {
      rejectUnsupportedInput(request, capabilities)
      const { model, attempt_id } = request
      const encoded = await encodeStart(request, options)
      const headers = byHeader ? { headers: { 'idempotency-key': attempt_id } } : {}
      const heard: Heard = { reply: null }
      try {
        const call = { ...encoded, ...headers, abortSignal: signal }
        const { operation, warnings } = await modelOf(model, heard).doStart(call)
        if (warnings !== undefined && warnings.length > 0)
          throw new EngineError('rejected', `The package ignores a part of the request: ${featureOf(warnings[0])}.`)
        await refuseShortened(heard.reply?.json, request, async () => {})
        return { model, operation: storable(operation) }
      } catch (error) {
        throw packageError(error, heard, words, signal)
      }
    },

    async poll(ticket, signal) {
      readTicket(ticket)
      const heard: Heard = { reply: null }
      try {
        return stateOf(await statusOf(ticket, heard, signal), heard, words)
      } catch (error) {
        if (error instanceof EngineError || signal.aborted || outboundBehind(error) !== null)
          throw packageError(error, heard, words, signal)
        return thrownState(heard, words)
      }
    },

    async fetch(ticket, _output, signal) {
      // Asked again: URLs expire, and some hold the credential, which has no place in the database.
      const heard: Heard = { reply: null }
      const status = await statusOf(ticket, heard, signal).catch((error: unknown) => {
        if (outboundBehind(error) !== null || heard.reply === null) throw packageError(error, heard, words, signal)
        return null
      })
      const video = status?.status === 'completed' ? status.videos[0] : undefined
      if (video?.type === 'base64' || video?.type === 'binary') return bytesOf(video)
      const url = video?.type === 'url' ? video.url : findVideoUrl(heard.reply?.json, { named: true })
      if (url === null) throw unreadableReply('it holds no clip')
      return openClip(client, [{ url }], { trusted_origins: options.output_origins }, signal)
    },

    cancel: async (ticket) => {
      readTicket(ticket)
      return false
    },

    close: async () => {
      await Promise.all([pool.destroy(), client.close()])
    },
  }
}

type AsyncModel = Required<AiSdkVideoModel>

/** Video models by their name, each for one call. Throws StartError, now, when the package has none that can be started and polled. */
function openModels(options: AiSdkVideoOptions, guarded: typeof fetch): (model: string, heard: Heard) => AsyncModel {
  const { package: name } = options
  const factory = requireFactory(name, SETTING)
  return (model, heard) => {
    const provider = factory(providerSettings(options, listening(guarded, heard)))
    const create = (provider.videoModel ?? provider.video) as ((model: string) => AiSdkVideoModel) | undefined
    if (typeof create !== 'function') throw new StartError(`${SETTING}: the package ${name} has no video models.`)
    const made = create(model)
    if (made.doStart === undefined || made.doStatus === undefined)
      throw new StartError(
        `${SETTING}: the package ${name} renders within one call, which a restart would lose and pay for again. It needs models with a start and a status.`,
      )
    return made as AsyncModel
  }
}

/** Packages of providers whose own codes are known. */
const WORDS: Record<string, ProtocolWords> = {
  '@ai-sdk/minimax': minimaxDialect.words,
  '@ai-sdk/bytedance': arkDialect.words,
}

function protocolOf({ package: name, references_max = {}, input_transport }: AiSdkVideoOptions): Protocol {
  const { images = 8, videos = 2 } = references_max
  return {
    inputs: new Set(['first_frame', 'last_frame', 'reference_images', 'reference_videos']),
    seconds: [4, 15],
    ratios: ASPECT_RATIOS.filter((ratio) => ratio !== 'Auto'),
    references_max: { images, videos, audio: 0, files: images + videos },
    media: input_transport === 'url' ? 'signed_url' : 'bytes',
    cancel: 'none',
    idempotency: name === GATEWAY ? 'header' : 'none',
  }
}

/** What names the render, as JSON that is no longer than an id and a URL. Throws EngineError: a render may have begun. */
function storable(operation: unknown): JsonValue {
  const text = JSON.stringify(operation) ?? 'null'
  if (text === 'null' || text.length > OPERATION_LENGTH_MAX) throw unreadableReply('it names no render')
  return JSON.parse(text) as JsonValue
}

function readTicket(ticket: Ticket): { model: string; operation: JsonValue } {
  if (isRecord(ticket) && typeof ticket.model === 'string' && ticket.operation !== undefined)
    return { model: ticket.model, operation: ticket.operation as JsonValue }
  throw new EngineError('permanent', 'Not a ticket of this engine.')
}

function bytesOf(video: Extract<Video, { data: unknown }>): ReadableStream<Uint8Array> {
  return new Blob([video.type === 'base64' ? Buffer.from(video.data, 'base64') : new Uint8Array(video.data)]).stream()
}

/** What a warning is about, in the package's own name for it. Its details may hold a part of the request. */
function featureOf(warning: unknown): string {
  const { feature, type } = (isRecord(warning) ? warning : {}) as { feature?: unknown; type?: unknown }
  const name = typeof feature === 'string' ? feature : typeof type === 'string' ? type : ''
  return /^[\w .-]{1,60}$/.test(name) ? name : 'it does not say which'
}

const SETTING = 'video_models'
/** Repeats a start with the same key without rendering again. Source: https://vercel.com/docs/ai-gateway */
const GATEWAY = '@ai-sdk/gateway'
const OPERATION_LENGTH_MAX = 8192
const CONNECTIONS = 256
const CONNECT_MS = 10_000
/** A start carries the files with it. */
const START_SECONDS = 300
