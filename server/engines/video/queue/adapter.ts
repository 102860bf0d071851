import Type from 'typebox'
import { isRecord } from '../../../platform/json/record.ts'
import { BaseUrl, baseUrlMistakes, Origin, withVersion } from '../../base-url.ts'
import type { EntryMistake } from '../../engine-entry.ts'
import { EngineError } from '../../engine-error.ts'
import { unreadableReply } from '../../reply-error.ts'
import { CapabilityOptions } from '../capabilities.ts'
import type { JsonValue, RenderRequest, Ticket, VideoEngine } from '../contract.ts'
import { jsonWithDataUrls } from '../http/data-url.ts'
import { rejectUnsupportedInput } from '../reject-unsupported.ts'
import { openClip } from '../reply/open-clip.ts'
import { refuseShortened } from '../reply/read.ts'
import { placeholdersIn } from '../template.ts'
import { type CatalogConnection, connect, type Encode, type QueueDialect } from './connection.ts'
import { falDialect } from './fal.ts'
import {
  fillInput,
  INPUT_MODES,
  inputCapabilities,
  inputMistakes,
  modelInput,
  plainInput,
  type Template,
} from './input.ts'
import { replicateDialect } from './replicate.ts'

const InputTemplate = Type.Unsafe<Template>({
  type: 'object',
  description: 'The input of the model, with placeholders such as {{prompt}}, {{seconds}} and {{first_frame}}.',
})
const Model = Type.String({
  pattern: '^[\\w.-]+(/[\\w.-]+)*(:[\\w.-]+)?$',
  patternErrorMessage: 'must be the path of a model, such as owner/name',
})
const ModeInput = Type.Object(
  { model: Type.Optional(Model), input: Type.Optional(InputTemplate) },
  { additionalProperties: false },
)
const Count = Type.Optional(Type.Integer({ minimum: 0 }))

/**
 * `input` is the model's input as JSON with placeholders; `by_mode` has what differs for frames and references. `input_transport`: whether
 * files are handed over inside the input as `data:` URLs, or as signed URLs. `cancel_after_seconds`: how long Replicate lets a render take.
 */
export const QueueOptions = Type.Object(
  {
    kind: Type.Literal('queue'),
    dialect: Type.Enum(['fal', 'replicate']),
    base_url: Type.Optional(BaseUrl),
    api_key: Type.Optional(Type.String()),
    headers: Type.Optional(Type.Record(Type.String({ minLength: 1 }), Type.String())),
    model: Type.Optional(Model),
    input: InputTemplate,
    by_mode: Type.Optional(
      Type.Partial(Type.Record(Type.Enum([...INPUT_MODES]), ModeInput), { additionalProperties: false }),
    ),
    ...CapabilityOptions,
    references_max: Type.Optional(
      Type.Object({ images: Count, videos: Count, audio: Count }, { additionalProperties: false }),
    ),
    input_transport: Type.Optional(Type.Enum(['data', 'url'])),
    signed_url_ttl_seconds: Type.Optional(Type.Integer({ minimum: 60 })),
    output_origins: Type.Optional(Type.Array(Origin)),
    cancel_after_seconds: Type.Optional(Type.Integer({ minimum: 5 })),
    start_timeout_seconds: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
)
export type QueueOptions = Type.Static<typeof QueueOptions>

/** Hosted catalogs that queue a request and are polled: fal and Replicate. */
export function queueVideo(options: QueueOptions): VideoEngine {
  const connection = open(options)
  const dialect = DIALECTS[options.dialect](connection, options)
  const media = options.input_transport === 'url' ? 'signed_url' : 'data_url'
  const capabilities = inputCapabilities(options, { media, cancel: dialect.cancel, idempotency: 'none' })
  const started: Started = new Map()
  const keyOf = (ticket: JsonValue) => `${new URL(connection.address).href}/requests/${dialect.idOf(ticket)}`

  return {
    capabilities: () => capabilities,

    async start(request, signal) {
      rejectUnsupportedInput(request, capabilities)
      const { model, template } = modelInput(options, request)
      const { encode, urlOf } = transportOf(options)
      const input = await fillInput(template, request, urlOf)
      const timeout_ms = (options.start_timeout_seconds ?? START_SECONDS) * 1000
      const { ticket, json } = await dialect.start({ model, input, encode, timeout_ms }, signal)
      remember(started, dialect.idOf(ticket), { ticket, attempt_id: request.attempt_id, certain: true })
      await refuseShortened(json, request, () => dialect.cancelRender(ticket, signal))
      return ticket
    },

    async recover(request, { since, taken }) {
      // The engine had answered, or the render was found before, but the host could not store the ticket.
      const own = [...started.values()].find(({ attempt_id }) => attempt_id === request.attempt_id)
      if (own !== undefined && (await taken([keyOf(own.ticket)])).size === 0)
        return { found: own.ticket, certain: own.certain }
      if (dialect.find === undefined) return 'unknown'
      const { model, template } = modelInput(options, request)
      const { tickets, complete } = await dialect.find({ model, input: plainInput(template, request), since })
      const others = await taken(tickets.map(keyOf))
      const free = tickets.filter((ticket) => !others.has(keyOf(ticket)) && !started.has(dialect.idOf(ticket)))
      const [found, ...more] = free
      if (found === undefined) return complete ? 'absent' : 'unknown'
      if (more.length > 0) return 'several'
      // No other attempt has its seed.
      const certain = placeholdersIn(template).has('seed')
      remember(started, dialect.idOf(found), { ticket: found, attempt_id: request.attempt_id, certain })
      return { found, certain }
    },

    listKey: ({ model, prompt, seconds }) =>
      dialect.find === undefined ? null : JSON.stringify([connection.address, model, prompt, seconds]),
    renderKey: keyOf,
    poll: (ticket, signal) => dialect.poll(ticket, signal),

    async fetch(ticket, output, signal) {
      dialect.idOf(ticket)
      const url = urlIn(output) ?? urlIn(await outputOf(dialect, ticket, signal))
      if (url === null) throw unreadableReply('it names no clip')
      return openClip(connection.client, [{ url }], { trusted_origins: options.output_origins }, signal)
    },

    cancel: (ticket, signal = new AbortController().signal) => dialect.cancelRender(ticket, signal),
    close: () => connection.client.close(),
  }
}

function urlIn(output: JsonValue): string | null {
  return isRecord(output) && typeof output.url === 'string' ? output.url : null
}

/** The output of a finished render whose result could not be had when it was polled. Throws EngineError. */
async function outputOf(dialect: QueueDialect, ticket: Ticket, signal: AbortSignal): Promise<JsonValue> {
  const result = await dialect.result?.(ticket, signal)
  if (result?.state === 'succeeded') return result.output
  if (result?.state === 'failed') throw result.error
  throw new EngineError('permanent', 'The engine no longer has the result.', { engine_code: 'no_result' })
}

/** Templates and options that contradict each other or the dialect. */
export function queueMistakes(options: QueueOptions): EntryMistake[] {
  const mistakes = [...inputMistakes(options), ...baseUrlMistakes('base_url', options.base_url)]
  if (options.cancel_after_seconds !== undefined && options.dialect !== 'replicate')
    mistakes.push({ path: 'cancel_after_seconds', message: `The dialect ${options.dialect} has no such limit.` })
  return mistakes
}

const DIALECTS: Record<
  QueueOptions['dialect'],
  (connection: CatalogConnection, options: QueueOptions) => QueueDialect
> = {
  fal: falDialect,
  replicate: replicateDialect,
}

/** A start carries the media with it, up to some hundred megabytes. */
const START_SECONDS = 300

/** Renders this process started or found, by their ids: found again by the same attempt, never taken for another's. */
type Started = Map<string, Start>
type Start = { ticket: JsonValue; attempt_id: RenderRequest['attempt_id']; certain: boolean }
const STARTED_MAX = 10_000

function remember(started: Started, id: string, start: Start): void {
  started.set(id, start)
  if (started.size > STARTED_MAX) started.delete(started.keys().next().value!)
}

function open({ dialect, base_url, api_key, headers = {} }: QueueOptions): CatalogConnection {
  const scheme = dialect === 'fal' ? 'Key' : 'Bearer'
  const address = base_url ?? (dialect === 'fal' ? 'https://queue.fal.run' : 'https://api.replicate.com')
  const credential: Record<string, string> = api_key ? { authorization: `${scheme} ${api_key}` } : {}
  const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return connect({
    base_url: dialect === 'fal' ? address : withVersion(address),
    headers: { ...credential, ...own },
  })
}

function transportOf({ input_transport, signed_url_ttl_seconds }: QueueOptions) {
  if (input_transport === 'url')
    return {
      urlOf: (input: RenderRequest['inputs'][number]) => input.signedUrl(signed_url_ttl_seconds),
      encode: ((json) => ({ json })) satisfies Encode,
    }
  const { urlOf, body } = jsonWithDataUrls()
  return { urlOf, encode: ((json) => ({ body: body(json) })) satisfies Encode }
}
