import Type from 'typebox'
import { isRecord } from '../../../platform/json/record.ts'
import { type EngineClient, type EngineReply, engineClient } from '../../../platform/outbound/client.ts'
import { BaseUrl, baseUrlMistakes, namesVersion, Origin } from '../../base-url.ts'
import type { Mistake } from '../../engine-entry.ts'
import { EngineError } from '../../engine-error.ts'
import { callError, statusError } from '../../reply-error.ts'
import { ASPECT_RATIOS, type JsonValue, type RenderRequest, type Ticket, type VideoEngine } from '../contract.ts'
import { refuseUnsupported, renderMode } from '../refuse-unsupported.ts'
import { isReference, readCapabilities } from './capabilities.ts'
import { jsonWithDataUrls } from './data-url.ts'
import { type Dialect, INPUTS, type WrittenStart } from './dialects/dialect.ts'
import { openaiDialect } from './dialects/openai.ts'
import { openrouterDialect } from './dialects/openrouter.ts'
import { sglangDialect } from './dialects/sglang.ts'
import { RATIOS } from './dialects/sizes.ts'
import { vllmOmniDialect } from './dialects/vllm-omni.ts'
import { openOutput } from './open-output.ts'
import { findCandidates, hasSeed, type ListPage } from './recover.ts'
import { readView, renderState } from './render-view.ts'

/**
 * `references_base_url`: where SGLang serves renders from references. `path_prefix` goes between the base URL and `/videos`; `/v1`
 * when absent, nothing when the base URL itself names a version. `inputs` narrows what the dialect can carry to what the model takes.
 * `input_transport`: whether files are handed over as signed URLs, or as `data:` URLs to an engine that cannot reach this service.
 * `output_origins`: hosts beside the engine's own, private ones too, from which finished clips may be fetched, without the credential.
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
    seconds: Type.Optional(Type.Tuple([Type.Integer({ minimum: 1 }), Type.Integer({ minimum: 1 })])),
    ratios: Type.Optional(Type.Array(Type.Enum([...ASPECT_RATIOS]), { minItems: 1 })),
    sizes: Type.Optional(
      Type.Partial(
        Type.Record(
          Type.Enum([...RATIOS]),
          Type.String({
            pattern: '^[1-9][0-9]*x[1-9][0-9]*$',
            patternErrorMessage: 'must be width x height in pixels, such as 1280x720',
          }),
        ),
        {
          additionalProperties: false,
        },
      ),
    ),
    inputs: Type.Optional(
      Type.Array(Type.Enum([...INPUTS]), {
        errorMessage: 'must be a list of inputs; how they are sent is set by input_transport: url or data',
      }),
    ),
    input_transport: Type.Optional(Type.Enum(['url', 'data'])),
    signed_url_ttl_seconds: Type.Optional(Type.Integer({ minimum: 60 })),
    output_origins: Type.Optional(Type.Array(Origin)),
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
  const capabilities = readCapabilities(dialect, options)
  const started: Started = new Map()

  return {
    capabilities: () => capabilities,

    async start(request, signal) {
      refuseUnsupported(request, capabilities)
      const where = addressOf(dialect, request)
      const timeout_ms = (options.start_timeout_seconds ?? START_SECONDS) * 1000
      const written = await writeStart(dialect, request, options)
      const reply = await ask(clients[where], { method: 'POST', path: '/videos', timeout_ms, ...written }, signal)
      return { id: remember(started, readView(reply.json).id, request), where }
    },

    async recover(request, { since, taken }) {
      const where = addressOf(dialect, request)
      // The engine had answered, but the host could not store the ticket.
      const keyOf = ({ id }: { id: string }) => renderKey(addresses[where], id)
      const [own, known] = [...started].find(([, { attempt_id }]) => attempt_id === request.attempt_id) ?? []
      if (own !== undefined && known !== undefined && (await taken([keyOf({ id: own })])).size === 0)
        return { found: { id: own, where }, certain: known.certain }
      if (!dialect.lists) return 'unknown'
      const { views, complete } = await findCandidates(request, since, (after) => readList(clients[where], after))
      const others = await taken(views.map(keyOf))
      const free = views.filter((view) => !others.has(keyOf(view)) && !started.has(view.id))
      const marked = free.filter((view) => hasSeed(view, request))
      const [view, ...more] = marked.length > 0 ? marked : free
      if (view === undefined) return complete ? 'absent' : 'unknown'
      if (more.length > 0) return 'several'
      const certain = marked.length > 0
      return { found: { id: remember(started, view.id, request, certain), where }, certain }
    },

    listKey: (request) => (dialect.lists ? addresses[addressOf(dialect, request)] : null),

    renderKey(ticket) {
      const { id, where } = readTicket(ticket)
      return renderKey(addresses[where], id)
    },

    async poll(ticket, signal) {
      const { id, where } = readTicket(ticket)
      const reply = await send(clients[where], { method: 'GET', path: videoPath(id) }, signal)
      if (reply.status === 404 || reply.status === 410) return { state: 'lost' }
      if (reply.status !== 200) throw statusError(reply.status, reply.headers, reply.json)
      return renderState(reply, id)
    },

    async fetch(ticket, output, signal) {
      const { id, where } = readTicket(ticket)
      const limits = {
        max_bytes: OUTPUT_BYTES_MAX,
        timeout_ms: OUTPUT_MS,
        trusted_origins: options.output_origins ?? [],
      }
      return openOutput(clients[where], outputUrl(output) ?? `${videoPath(id)}/content`, limits, signal)
    },

    async cancel(ticket, signal = new AbortController().signal) {
      if (dialect.cancel === 'none') return false
      const { id, where } = readTicket(ticket)
      const path = videoPath(id)
      const reply = await send(clients[where], { method: 'DELETE', path }, signal)
      if (reply.status >= 200 && reply.status < 300) return true
      const fault = statusError(reply.status, reply.headers, reply.json)
      if (fault.kind === 'transient') throw fault
      // No such render, or no such route: only the render itself knows.
      return (await send(clients[where], { method: 'GET', path }, signal)).status === 404
    },

    async close() {
      await Promise.all([clients.base.close(), clients.references.close()])
    },
  }
}

async function writeStart(
  dialect: Dialect,
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
export function videosApiMistakes(options: VideosApiOptions): Mistake[] {
  const dialect = DIALECTS[options.dialect]
  const [min, max] = options.seconds ?? [4, 15]
  const mistakes = (options.inputs ?? []).flatMap((input, i) => {
    if (!dialect.inputs.has(input))
      return [{ path: `inputs.${i}`, message: `The dialect ${options.dialect} cannot carry it.` }]
    const unserved = dialect.separate_references && isReference(input) && options.references_base_url === undefined
    return unserved ? [{ path: `inputs.${i}`, message: 'Needs references_base_url.' }] : []
  })
  if (min > max) mistakes.push({ path: 'seconds', message: 'The first number must not be above the second.' })
  if (options.input_transport !== undefined && dialect.media !== 'signed_url')
    mistakes.push({ path: 'input_transport', message: `The dialect ${options.dialect} is always sent the bytes.` })
  if (options.references_base_url !== undefined && !dialect.separate_references)
    mistakes.push({ path: 'references_base_url', message: `The dialect ${options.dialect} has one address.` })
  return [...mistakes, ...addressMistakes(options)]
}

function addressMistakes({ base_url, references_base_url, path_prefix }: VideosApiOptions): Mistake[] {
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

const DIALECTS: Record<VideosApiOptions['dialect'], Dialect> = {
  openai: openaiDialect,
  openrouter: openrouterDialect,
  sglang: sglangDialect,
  'vllm-omni': vllmOmniDialect,
}

/** A start carries the media with it, up to some hundred megabytes. */
const START_SECONDS = 300
const OUTPUT_MS = 900_000
const OUTPUT_BYTES_MAX = 2 * 1024 ** 3
const LIST_LIMIT = 100

/** Renders this process started, by their attempts: found again by the same attempt, never taken for another's. Bounded; older ones no longer match by time. */
const STARTED_MAX = 10_000

type Where = 'base' | 'references'
/** `certain`: the engine named the render for this attempt, or it bears its mark. */
type Started = Map<string, { attempt_id: string; certain: boolean }>

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
      ...(api_key === undefined ? {} : { api_key }),
      ...(headers === undefined ? {} : { headers }),
    })
  return { base: open(addresses.base), references: open(addresses.references) }
}

/** The same for every entry of the configuration that leads to this engine. */
function renderKey(address: string, id: string): string {
  return `${new URL(address).href}/videos/${id}`
}

async function readList(client: EngineClient, after: string | null): Promise<ListPage> {
  const path = `/videos?limit=${LIST_LIMIT}&order=desc${after === null ? '' : `&after=${encodeURIComponent(after)}`}`
  const reply = await ask(client, { method: 'GET', path }, new AbortController().signal)
  const { data, has_more } = (reply.json ?? {}) as { data?: unknown; has_more?: unknown }
  if (!Array.isArray(data)) return { views: [], has_more: true }
  return { views: data, has_more: typeof has_more === 'boolean' ? has_more : data.length >= LIST_LIMIT }
}

async function send(
  client: EngineClient,
  call: Parameters<EngineClient['call']>[0],
  signal: AbortSignal,
): Promise<EngineReply> {
  try {
    return await client.call(call, signal)
  } catch (error) {
    throw callError(error)
  }
}

async function ask(
  client: EngineClient,
  call: Parameters<EngineClient['call']>[0],
  signal: AbortSignal,
): Promise<EngineReply> {
  const reply = await send(client, call, signal)
  if (reply.status < 200 || reply.status > 299) throw statusError(reply.status, reply.headers, reply.json)
  return reply
}

function remember(started: Started, id: string, { attempt_id }: RenderRequest, certain = true): string {
  started.set(id, { attempt_id, certain })
  if (started.size > STARTED_MAX) started.delete(started.keys().next().value!)
  return id
}

function addressOf(dialect: Dialect, request: RenderRequest): Where {
  return dialect.separate_references && renderMode(request) === 'references' ? 'references' : 'base'
}

function outputUrl(output: JsonValue): string | null {
  return isRecord(output) && typeof output.url === 'string' ? output.url : null
}

function readTicket(ticket: Ticket): { id: string; where: Where } {
  const { id, where } = (ticket ?? {}) as { id?: unknown; where?: unknown }
  if (typeof id === 'string' && (where === 'base' || where === 'references')) return { id, where }
  throw new EngineError('permanent', 'Not a ticket of this engine.')
}

function videoPath(id: string): string {
  return `/videos/${encodeURIComponent(id)}`
}
