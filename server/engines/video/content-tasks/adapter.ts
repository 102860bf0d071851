import Type from 'typebox'
import { type EngineClient, engineClient } from '../../../platform/outbound/client.ts'
import { BaseUrl, Origin } from '../../base-url.ts'
import type { EntryMistake } from '../../engine-entry.ts'
import { EngineError } from '../../engine-error.ts'
import { CapabilityOptions, capabilityMistakes, narrowCapabilities, type Protocol } from '../capabilities.ts'
import type { RenderRequest, Ticket, VideoEngine } from '../contract.ts'
import { send } from '../http/call.ts'
import { jsonWithDataUrls } from '../http/data-url.ts'
import { type ListPage, recoverFromList, startedRenders } from '../recover-from-list.ts'
import { rejectUnsupportedInput } from '../reject-unsupported.ts'
import { type ClipPlace, openClip, outputUrl } from '../reply/open-clip.ts'
import { readCancelReply, readList, readStart, readState, refuseShortened } from '../reply/read.ts'
import { isRenderId } from '../reply/view.ts'
import { arkDialect } from './dialects/ark.ts'
import type { TaskDialect } from './dialects/dialect.ts'
import { minimaxDialect } from './dialects/minimax.ts'
import { hasSeedOfTask, isTaskOf } from './listed-task.ts'
import { refuseMedia } from './media-limits.ts'
import { asked, OMITTABLE, writeStart } from './write-start.ts'

/**
 * `path_prefix` goes between the base URL and the paths of the dialect: resellers differ only there. `inputs` names what the model takes,
 * where that is not what the dialect assumes. `input_transport`: files are sent as `data:` URLs, or named by signed URLs to an engine
 * that can reach this service. `omit`: members of a start that the model refuses. `output_origins`: hosts beside the engine's own, private ones too, from which finished clips may be
 * fetched, without the credential.
 */
export const ContentTasksOptions = Type.Object(
  {
    kind: Type.Literal('content-tasks'),
    dialect: Type.Enum(['minimax', 'ark']),
    base_url: BaseUrl,
    path_prefix: Type.Optional(
      Type.String({
        pattern: '^(/[^\\s?#]+)?$',
        patternErrorMessage: 'must begin with a slash, or be empty',
        description: 'Between the base URL and the paths of the dialect, for resellers.',
      }),
    ),
    api_key: Type.Optional(Type.String()),
    headers: Type.Optional(Type.Record(Type.String({ minLength: 1 }), Type.String())),
    model: Type.Optional(Type.String({ minLength: 1 })),
    resolution: Type.Optional(Type.Enum(['480p', '720p', '768P', '1080p'])),
    omit: Type.Optional(
      Type.Array(Type.Enum([...OMITTABLE]), { description: 'Members of the request that the model does not take.' }),
    ),
    ...CapabilityOptions,
    input_transport: Type.Optional(Type.Enum(['url', 'data'])),
    signed_url_ttl_seconds: Type.Optional(Type.Integer({ minimum: 60 })),
    output_origins: Type.Optional(Type.Array(Origin)),
    start_timeout_seconds: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
)
export type ContentTasksOptions = Type.Static<typeof ContentTasksOptions>

/**
 * Hosted engines whose renders are tasks with a `content` list: MiniMax H3 and Seedance. They offer no idempotency, so a start whose
 * outcome is unknown is looked for in the list, which does not show prompts. Source: docs/engines.md, video.
 */
export function contentTasks(options: ContentTasksOptions): VideoEngine {
  const dialect = DIALECTS[options.dialect]
  const { paths } = dialect
  const address = addressOf(options)
  const client = openClient(options, address)
  const capabilities = (model: string) => narrowCapabilities(protocolOf(options, model), options)
  const started = startedRenders()

  const askState = async (id: string, signal: AbortSignal) =>
    readState(await send(client, { method: 'GET', path: taskPath(paths.poll, id) }, signal), dialect.words)

  async function cancel(ticket: Ticket, signal = new AbortController().signal): Promise<boolean> {
    const id = readTicket(ticket)
    const reply = await send(client, { method: 'DELETE', path: taskPath(paths.cancel, id) }, signal)
    const end = readCancelReply(reply, dialect.words)
    if (end === 'stopped') return true
    const state = await askState(id, signal)
    if (state.state !== 'running') return true
    if (state.queued && end !== 'gone' && end.kind === 'transient') throw end
    return false
  }

  return {
    capabilities,

    async start(request, signal) {
      rejectUnsupportedInput(request, capabilities(request.model))
      refuseMedia(request, dialect.media_limits(request.model))
      const timeout_ms = (options.start_timeout_seconds ?? START_SECONDS) * 1000
      const written = await startBody(options, request)
      const reply = await send(client, { method: 'POST', path: paths.start, timeout_ms, ...written }, signal)
      const ticket = { id: started.remember(readStart(reply, dialect.words), request) }
      await refuseShortened(reply.json, request, () => cancel(ticket))
      return ticket
    },

    async recover(request, search) {
      const task = asked(dialect, request, options.omit)
      const recovery = await recoverFromList(request, {
        ...search,
        started,
        keyOf: (id) => renderKey(address, dialect, id),
        readPage: pageReader(client, dialect),
        match: (view) => isTaskOf(view, task),
        isMarked: (view) => hasSeedOfTask(view, task),
      })
      if (typeof recovery === 'string') return recovery
      return { found: { id: recovery.id }, certain: recovery.certain }
    },

    // The list does not show prompts, and of a queued task not even its model.
    listKey: () => address,

    renderKey: (ticket) => renderKey(address, dialect, readTicket(ticket)),

    async poll(ticket, signal) {
      const { queued: _, ...state } = await askState(readTicket(ticket), signal)
      return state
    },

    async fetch(ticket, output, signal) {
      // URLs expire within hours: a poll gives a fresh one for as long as the task is known.
      const stored = outputUrl(output)
      const state = await askState(readTicket(ticket), signal).catch((error: unknown) => {
        if (stored === null) throw error
        return null
      })
      const fresh = state?.state === 'succeeded' ? outputUrl(state.output) : null
      const places = [fresh, stored].flatMap((url): ClipPlace[] => (url === null ? [] : [{ url }]))
      const [first, ...others] = places
      if (first === undefined) throw new EngineError('transient', 'The engine has not named the finished clip.')
      return openClip(client, [first, ...others], { trusted_origins: options.output_origins }, signal)
    },

    cancel,
    close: () => client.close(),
  }
}

/** Options that contradict each other or the dialect. */
export function contentTasksMistakes(options: ContentTasksOptions): EntryMistake[] {
  const { dialect: name, base_url, path_prefix, resolution, model, seconds } = options
  const dialect = DIALECTS[name]
  const protocol = protocolOf(options, model ?? '')
  const mistakes = capabilityMistakes(options, protocol, `The dialect ${name}`)
  if (resolution !== undefined && !dialect.resolutions.includes(resolution))
    mistakes.push({ path: 'resolution', message: `Must be one of ${dialect.resolutions.join(', ')}.` })
  if (model !== undefined && seconds !== undefined && seconds[0] < protocol.seconds[0])
    mistakes.push({ path: 'seconds', message: `The model takes ${protocol.seconds.join(' to ')} seconds.` })
  const call = /\/(v2(\/video_generation|\/query.*)?|contents\/generations(\/tasks)?)\/*$/.exec(base_url)
  if (call) mistakes.push({ path: 'base_url', message: `Must end before /${call[1]}, which is added.` })
  if (path_prefix && base_url.replace(/\/+$/, '').endsWith(path_prefix))
    mistakes.push({
      path: 'path_prefix',
      message: `The base URL ends in ${path_prefix} already. Leave one of them off.`,
    })
  return mistakes
}

const DIALECTS: Record<ContentTasksOptions['dialect'], TaskDialect> = { minimax: minimaxDialect, ark: arkDialect }

/** A start carries the media with it, up to some hundred megabytes. */
const START_SECONDS = 300
/** What the clients of both engines ask for. */
const LIST_LIMIT = 20

function protocolOf({ dialect, inputs, input_transport }: ContentTasksOptions, model: string): Protocol {
  return {
    ...DIALECTS[dialect].protocol(model, inputs),
    media: input_transport === 'url' ? 'signed_url' : 'data_url',
    cancel: 'queued',
    idempotency: 'none',
  }
}

function addressOf({ dialect, base_url, path_prefix }: ContentTasksOptions): string {
  return base_url.replace(/\/+$/, '') + (path_prefix ?? DIALECTS[dialect].path_prefix(base_url))
}

function openClient({ api_key, headers }: ContentTasksOptions, base_url: string): EngineClient {
  return engineClient({
    base_url,
    ...(api_key === undefined ? {} : { api_key }),
    ...(headers === undefined ? {} : { headers }),
  })
}

async function startBody(options: ContentTasksOptions, request: RenderRequest) {
  const { dialect: name, input_transport, signed_url_ttl_seconds, omit } = options
  const dialect = DIALECTS[name]
  const resolution = options.resolution ?? dialect.resolutions[0]
  if (input_transport === 'url')
    return {
      json: await writeStart(dialect, request, {
        resolution,
        omit,
        urlOf: (input) => input.signedUrl(signed_url_ttl_seconds),
      }),
    }
  const { urlOf, body } = jsonWithDataUrls()
  return { body: body(await writeStart(dialect, request, { resolution, omit, urlOf })) }
}

/** Reads the list page by page, newest first. */
function pageReader(client: EngineClient, dialect: TaskDialect): () => Promise<ListPage> {
  let page_num = 0
  let seen = 0
  return async () => {
    page_num += 1
    const path = `${dialect.paths.list}?page_num=${page_num}&page_size=${LIST_LIMIT}`
    const reply = await send(client, { method: 'GET', path }, new AbortController().signal)
    const { items, total } = readList(reply, dialect.words)
    if (items === null) return { views: [], has_more: true }
    seen += items.length
    return {
      views: items.filter(dialect.isRender),
      has_more: typeof total === 'number' ? seen < total : items.length >= LIST_LIMIT,
    }
  }
}

/** The same for every entry of the configuration that leads to this engine. */
function renderKey(address: string, { paths }: TaskDialect, id: string): string {
  return `${new URL(address).href.replace(/\/+$/, '')}${paths.start}/${id}`
}

function readTicket(ticket: Ticket): string {
  const { id } = (ticket ?? {}) as { id?: unknown }
  if (typeof id === 'string' && isRenderId(id)) return id
  throw new EngineError('permanent', 'Not a ticket of this engine.')
}

function taskPath(path: string, id: string): string {
  return `${path}/${encodeURIComponent(id)}`
}
