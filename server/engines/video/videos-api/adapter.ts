import Type from 'typebox'
import { type EngineClient, engineClient } from '../../../platform/outbound/client.ts'
import { BaseUrl, baseUrlMistakes, namesVersion, Origin } from '../../base-url.ts'
import type { EntryMistake } from '../../engine-entry.ts'
import { EngineError } from '../../engine-error.ts'
import {
  CapabilityOptions,
  capabilityMistakes,
  type InputName,
  narrowCapabilities,
  type Protocol,
} from '../capabilities.ts'
import type { RenderRequest, RenderState, Ticket, VideoEngine } from '../contract.ts'
import { send } from '../http/call.ts'
import { jsonWithDataUrls } from '../http/data-url.ts'
import { type ListPage, recoverFromList, startedRenders } from '../recover-from-list.ts'
import { rejectUnsupportedInput, renderMode } from '../reject-unsupported.ts'
import type { ProtocolWords } from '../reply/complaint.ts'
import { openClip, outputUrl } from '../reply/open-clip.ts'
import { readCancelReply, readList, readPoll, readStart, refuseShortened } from '../reply/read.ts'
import { isRenderId } from '../reply/view.ts'
import type { VideosApiDialect, WrittenStart } from './dialects/dialect.ts'
import { openaiDialect } from './dialects/openai.ts'
import { openrouterDialect } from './dialects/openrouter.ts'
import { sglangDialect } from './dialects/sglang.ts'
import { SIZED_RATIOS } from './dialects/sizes.ts'
import { vllmOmniDialect } from './dialects/vllm-omni.ts'
import { hasSeedOfRequest, isRenderOf } from './listed-render.ts'

/**
 * `references_base_url`: where SGLang serves renders from references. `path_prefix` goes between the base URL and `/videos`; `/v1`
 * when absent, nothing when the base URL itself names a version. `inputs` narrows what the dialect can carry to what the model takes.
 * `input_transport`: whether files are handed over as signed URLs, or as `data:` URLs to an engine that cannot reach this service.
 * `output_origins`: hosts beside the engine's own, private ones too, from which finished clips may be fetched, without the credential.
 * `cancel: none`: the server cannot stop a render, though its dialect could; the model listing says so.
 */
export const VideosApiOptions = Type.Object(
  {
    kind: Type.Literal('videos-api'),
    dialect: Type.Enum(['openai', 'openrouter', 'sglang', 'vllm-omni']),
    base_url: BaseUrl,
    references_base_url: Type.Optional(BaseUrl),
    path_prefix: Type.Optional(
      Type.String({
        pattern: '^(/[^\\s?#]+)?$',
        patternErrorMessage: 'must begin with a slash, or be empty',
        description: 'Between the base URL and /videos. Default /v1; nothing when the base URL names a version.',
      }),
    ),
    api_key: Type.Optional(Type.String()),
    headers: Type.Optional(Type.Record(Type.String({ minLength: 1 }), Type.String())),
    model: Type.Optional(Type.String({ minLength: 1 })),
    ...CapabilityOptions,
    sizes: Type.Optional(
      Type.Partial(
        Type.Record(
          Type.Enum([...SIZED_RATIOS]),
          Type.String({
            pattern: '^[1-9][0-9]*x[1-9][0-9]*$',
            patternErrorMessage: 'must be width x height in pixels, such as 1280x720',
          }),
        ),
        { additionalProperties: false },
      ),
    ),
    input_transport: Type.Optional(Type.Enum(['url', 'data'])),
    signed_url_ttl_seconds: Type.Optional(Type.Integer({ minimum: 60 })),
    output_origins: Type.Optional(Type.Array(Origin)),
    cancel: Type.Optional(Type.Literal('none')),
    start_timeout_seconds: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
)
export type VideosApiOptions = Type.Static<typeof VideosApiOptions>

/**
 * Engines that speak `/v1/videos`: SGLang, vLLM-Omni, OpenRouter, and gateways of OpenAI's shape. They offer no idempotency, so a start whose
 * outcome is unknown is looked for in the list. Source: docs/engines.md, video.
 */
export function videosApi(options: VideosApiOptions): VideoEngine {
  const dialect = DIALECTS[options.dialect]
  const addresses = readAddresses(options)
  const clients = openClients(options, addresses)
  const { cancel = dialect.cancel } = options
  const capabilities = narrowCapabilities({ ...carriedBy(dialect, options), cancel }, options)
  const started = startedRenders()

  return {
    capabilities: () => capabilities,

    async start(request, signal) {
      rejectUnsupportedInput(request, capabilities)
      const where = addressOf(dialect, request)
      const timeout_ms = (options.start_timeout_seconds ?? START_SECONDS) * 1000
      const written = await writeStart(dialect, request, options)
      const reply = await send(clients[where], { method: 'POST', path: '/videos', timeout_ms, ...written }, signal)
      const id = started.remember(readStart(reply, WORDS), request)
      await refuseShortened(
        reply.json,
        request,
        async () => cancel !== 'none' && stopRender(clients[where], id, signal),
      )
      return { id, where }
    },

    async recover(request, options) {
      const where = addressOf(dialect, request)
      const recovery = await recoverFromList(request, {
        ...options,
        started,
        keyOf: (id) => renderKey(addresses[where], id),
        readPage: dialect.lists ? (after) => readPage(clients[where], after) : undefined,
        match: (view) => isRenderOf(view, request),
        isMarked: (view) => hasSeedOfRequest(view, request),
      })
      if (typeof recovery === 'string') return recovery
      return { found: { id: recovery.id, where }, certain: recovery.certain }
    },

    listKey(request) {
      const { model, prompt, seconds } = request
      return dialect.lists ? JSON.stringify([addresses[addressOf(dialect, request)], model, prompt, seconds]) : null
    },

    renderKey(ticket) {
      const { id, where } = readTicket(ticket)
      return renderKey(addresses[where], id)
    },

    async poll(ticket, signal) {
      const { id, where } = readTicket(ticket)
      return pollRender(clients[where], id, signal)
    },

    async fetch(ticket, output, signal) {
      const { id, where } = readTicket(ticket)
      // The view last: some gateways hold the clip in it, or a fresh URL.
      const own = [{ path: `${videoPath(id)}/content` }, { path: videoPath(id) }] as const
      const url = outputUrl(output)
      const places = url === null ? own : ([{ url }, ...own] as const)
      return openClip(clients[where], places, { trusted_origins: options.output_origins }, signal)
    },

    async cancel(ticket, signal = new AbortController().signal) {
      if (cancel === 'none') return false
      const { id, where } = readTicket(ticket)
      return stopRender(clients[where], id, signal)
    },

    async close() {
      await Promise.all([clients.base.close(), clients.references.close()])
    },
  }
}

/** All dialects have the words that most engines use. */
const WORDS: ProtocolWords = {}

async function pollRender(client: EngineClient, id: string, signal: AbortSignal): Promise<RenderState> {
  return readPoll(await send(client, { method: 'GET', path: videoPath(id) }, signal), WORDS)
}

async function stopRender(client: EngineClient, id: string, signal: AbortSignal): Promise<boolean> {
  const end = readCancelReply(await send(client, { method: 'DELETE', path: videoPath(id) }, signal), WORDS)
  if (end === 'stopped') return true
  if (end !== 'gone' && end.kind === 'transient') throw end
  // No such render, or no such route: only the render itself knows.
  return (await pollRender(client, id, signal)).state !== 'running'
}

async function writeStart(
  dialect: VideosApiDialect,
  request: RenderRequest,
  { sizes, signed_url_ttl_seconds, input_transport }: VideosApiOptions,
): Promise<WrittenStart> {
  if (input_transport !== 'data')
    return dialect.start(request, { sizes, urlOf: (input) => input.signedUrl(signed_url_ttl_seconds) })
  const { urlOf, body } = jsonWithDataUrls()
  const written = await dialect.start(request, { sizes, urlOf })
  return 'json' in written ? { body: body(written.json) } : written
}

/** Options that contradict each other or the dialect. */
export function videosApiMistakes(options: VideosApiOptions): EntryMistake[] {
  const dialect = DIALECTS[options.dialect]
  const mistakes = capabilityMistakes(options, { ...dialect, ...PROMISED }, `The dialect ${options.dialect}`)
  for (const [i, input] of (options.inputs ?? []).entries())
    if (dialect.inputs.has(input) && !serves(dialect, options, input))
      mistakes.push({ path: `inputs.${i}`, message: 'Needs references_base_url.' })
  if (options.input_transport !== undefined && dialect.media !== 'signed_url')
    mistakes.push({ path: 'input_transport', message: `The dialect ${options.dialect} is always sent the bytes.` })
  if (options.references_base_url !== undefined && !dialect.separate_references)
    mistakes.push({ path: 'references_base_url', message: `The dialect ${options.dialect} has one address.` })
  return [...mistakes, ...addressMistakes(options)]
}

function addressMistakes({ base_url, references_base_url, path_prefix }: VideosApiOptions): EntryMistake[] {
  const doubled =
    path_prefix && [base_url, references_base_url].some((url) => url?.replace(/\/+$/, '').endsWith(path_prefix))
  return [
    ...baseUrlMistakes('base_url', base_url),
    ...baseUrlMistakes('references_base_url', references_base_url),
    ...(doubled
      ? [{ path: 'path_prefix', message: `The base URL ends in ${path_prefix} already. Leave one of them off.` }]
      : []),
  ]
}

/** No dialect offers idempotency. */
const PROMISED = { seconds: [4, 15], idempotency: 'none' } as const

function carriedBy(dialect: VideosApiDialect, options: VideosApiOptions): Protocol {
  const inputs = new Set([...dialect.inputs].filter((input) => serves(dialect, options, input)))
  const media = options.input_transport === 'data' ? 'data_url' : dialect.media
  return { ...dialect, ...PROMISED, inputs, media }
}

/** SGLang takes references only at an address of their own. */
function serves(dialect: VideosApiDialect, { references_base_url }: VideosApiOptions, input: InputName): boolean {
  return !dialect.separate_references || !input.startsWith('reference_') || references_base_url !== undefined
}

const DIALECTS: Record<VideosApiOptions['dialect'], VideosApiDialect> = {
  openai: openaiDialect,
  openrouter: openrouterDialect,
  sglang: sglangDialect,
  'vllm-omni': vllmOmniDialect,
}

/** A start carries the media with it, up to some hundred megabytes. */
const START_SECONDS = 300
const LIST_LIMIT = 100
/** Gateways before Vertex put a finished clip into the view of its render. */
const REPLY_BYTES_MAX = 32 * 1024 * 1024

type Where = 'base' | 'references'

function readAddresses({ base_url, references_base_url = base_url, path_prefix }: VideosApiOptions) {
  const complete = (address: string) =>
    address.replace(/\/+$/, '') + (path_prefix ?? (namesVersion(address) ? '' : '/v1'))
  return { base: complete(base_url), references: complete(references_base_url) } satisfies Record<Where, string>
}

function openClients(options: VideosApiOptions, addresses: Record<Where, string>): Record<Where, EngineClient> {
  const { api_key, headers } = options
  const open = (base_url: string) =>
    engineClient({
      base_url,
      reply_max_bytes: REPLY_BYTES_MAX,
      ...(api_key === undefined ? {} : { api_key }),
      ...(headers === undefined ? {} : { headers }),
    })
  return { base: open(addresses.base), references: open(addresses.references) }
}

/** The same for every entry of the configuration that leads to this engine. */
function renderKey(address: string, id: string): string {
  return `${new URL(address).href}/videos/${id}`
}

async function readPage(client: EngineClient, after: string | null): Promise<ListPage> {
  const path = `/videos?limit=${LIST_LIMIT}&order=desc${after === null ? '' : `&after=${encodeURIComponent(after)}`}`
  const reply = await send(client, { method: 'GET', path }, new AbortController().signal)
  const { items, has_more } = readList(reply, WORDS)
  if (items === null) return { views: [], has_more: true }
  return { views: items, has_more: typeof has_more === 'boolean' ? has_more : items.length >= LIST_LIMIT }
}

function addressOf(dialect: VideosApiDialect, request: RenderRequest): Where {
  return dialect.separate_references && renderMode(request) === 'references' ? 'references' : 'base'
}

function readTicket(ticket: Ticket): { id: string; where: Where } {
  const { id, where } = (ticket ?? {}) as { id?: unknown; where?: unknown }
  if (typeof id === 'string' && isRenderId(id) && (where === 'base' || where === 'references')) return { id, where }
  throw new EngineError('permanent', 'Not a ticket of this engine.')
}

function videoPath(id: string): string {
  return `/videos/${encodeURIComponent(id)}`
}
