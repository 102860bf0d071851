import Type from 'typebox'
import { Pool } from 'undici'
import type { Log } from '../../../platform/log.ts'
import { BaseUrl, baseUrlMistakes, withVersion } from '../../base-url.ts'
import type { EngineEnv, EntryMistake } from '../../engine-entry.ts'
import { EngineError, withReason } from '../../engine-error.ts'
import { type Chance, upstreamHealth } from '../../upstream-health.ts'
import { isHeavy } from '../answer-weight.ts'
import type { ChatEngine, ChatRequest } from '../contract.ts'
import { SAMPLING } from '../sampling.ts'
import { readWords } from '../server-words.ts'
import { SystemMessages } from '../system-messages.ts'
import { call } from './call.ts'
import type { CallOutcome, CallTarget, CompletionCallLimits } from './call-ends.ts'
import { encodeRequest } from './encode-request.ts'
import { type FormAdvice, formAdvice, otherForm, type RequestForm, withoutParts } from './form/request-form.ts'
import { completionReader } from './read/completion.ts'

const Headers = Type.Record(
  Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }),
  Type.String({ pattern: '^[\\t\\x20-\\x7e]*$' }),
)
const Secret = Type.String({
  pattern: '^[\\x21-\\x7e]*$',
  patternErrorMessage: 'must be of printable ASCII without spaces',
})

/**
 * One server, or several that serve the same model. `/v1` is added to a base URL that names no version. An endpoint's own `api_key` and
 * `model` win over the common ones. `max_tokens_field`: `max_tokens` for servers that do not know the newer name (Ollama).
 * `stream_plain`: stream upstream also when the client does not. `connections`: at once, to each server. `accepts`: sampling parameters that
 * the servers have; of the others, those that the contract lets us ignore are not sent. `parallel_tool_calls`: false for servers that reject it.
 */
export const OpenaiChatOptions = Type.Object(
  {
    kind: Type.Literal('openai'),
    base_url: Type.Optional(BaseUrl),
    endpoints: Type.Optional(
      Type.Array(
        Type.Object(
          {
            base_url: BaseUrl,
            api_key: Type.Optional(Secret),
            weight: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1000 })),
            model: Type.Optional(Type.String({ minLength: 1 })),
          },
          { additionalProperties: false },
        ),
        { minItems: 1, maxItems: 64 },
      ),
    ),
    api_key: Type.Optional(Secret),
    model: Type.Optional(Type.String({ minLength: 1 })),
    headers: Type.Optional(Headers),
    developer_role: Type.Optional(Type.Boolean()),
    system_messages: SystemMessages,
    assistant_after_tool: Type.Optional(Type.Boolean()),
    accepts: Type.Optional(Type.Array(Type.Enum([...SAMPLING]))),
    max_tokens_field: Type.Optional(Type.Enum(['max_completion_tokens', 'max_tokens'])),
    parallel_tool_calls: Type.Optional(Type.Boolean()),
    reasoning_content_input: Type.Optional(Type.Boolean()),
    fetches_urls: Type.Optional(Type.Boolean()),
    inputs: Type.Optional(Type.Enum(['url', 'data'])),
    stream_plain: Type.Optional(Type.Boolean()),
    idle_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 3600 })),
    total_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 86_400 })),
    connections: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_536 })),
  },
  { additionalProperties: false },
)
export type OpenaiChatOptions = Type.Static<typeof OpenaiChatOptions>

export function openaiChatMistakes({ base_url, endpoints, headers }: OpenaiChatOptions): EntryMistake[] {
  const found: EntryMistake[] = []
  if (base_url === undefined && endpoints === undefined) found.push({ path: 'base_url', message: 'Is missing.' })
  if (base_url !== undefined && endpoints !== undefined)
    found.push({ path: 'endpoints', message: 'Cannot be used with base_url.' })
  for (const name of Object.keys(headers ?? {})) {
    if (RESERVED_HEADERS.has(name.toLowerCase())) found.push({ path: `headers.${name}`, message: 'Cannot be set.' })
  }
  found.push(...baseUrlMistakes('base_url', base_url))
  for (const [i, each] of (endpoints ?? []).entries())
    found.push(...baseUrlMistakes(`endpoints.${i}.base_url`, each.base_url))
  return found
}

/** `chance` is replaced in tests alone. */
export type OpenaiChatEnv = Pick<EngineEnv, 'log' | 'upstream'> & { chance?: Chance }

/**
 * Any server of OpenAI's `/chat/completions`: vLLM, SGLang, llama.cpp, Ollama, OpenAI, OpenRouter. A request goes to another server
 * only while nothing of it was sent, or when a server has no capacity, and twice to one only in another form.
 * Source: docs/engines.md, chat servers.
 */
export function openaiChat(options: OpenaiChatOptions, env: OpenaiChatEnv = {}): ChatEngine {
  const servers = openServers(options, formOf(options))
  const chance = env.chance ?? { random: Math.random, now: () => performance.now() }
  const health = upstreamHealth(
    servers.map(({ weight }) => weight),
    chance,
  )
  const limits = limitsOf(options, env)
  const secrets = secretsOf(options)

  /** A request that a server refuses for the way in which we wrote it is written in another, which is kept when it is accepted. */
  async function ask(server: number, ...[request, signal, total_ms]: Asking): Promise<CallOutcome> {
    let { form } = servers[server]!
    const ends = chance.now() + total_ms
    for (let left_ms = total_ms; ; ) {
      const outcome = await send(server, form, request, signal, left_ms)
      const other = outcome.accepted === null ? otherForm(form, outcome.refused) : null
      left_ms = Math.ceil(ends - chance.now())
      if (other === null || left_ms <= 0) {
        if (outcome.accepted !== null) keepForm(server, form)
        return outcome
      }
      form = other
    }
  }

  function keepForm(server: number, form: RequestForm): void {
    const before = servers[server]!.form
    const now = withoutParts(before, form.refused)
    if (now.refused.size === before.refused.size) return
    servers[server]!.form = now
    logForm(env.log, formAdvice(before, now))
  }

  async function send(server: number, form: RequestForm, ...[request, signal, total_ms]: Asking): Promise<CallOutcome> {
    const { target, model } = servers[server]!
    const stream = request.stream || form.stream_plain || isHeavy(request)
    const words = readWords(request, [model, request.model, ...secrets])
    let body: string | readonly Buffer[]
    try {
      const written = encodeRequest(request, form, { model: model ?? request.model, stream }, signal)
      body = typeof written === 'string' ? written : await written
      signal.throwIfAborted()
    } catch (error) {
      // Nothing was sent, so this may not stay the probe of a server that is left out.
      health.report(server, 'neutral')
      throw error
    }
    return call({
      target,
      body,
      stream,
      choices: request.n,
      reader: readerOf(request, stream, words),
      words,
      limits: { idle_ms: limits.idle_ms, total_ms },
      signal,
      onEnd: (end) => health.report(server, end === null ? 'worked' : end === 'aborted' ? 'neutral' : healthAfter(end)),
    })
  }

  return {
    fetches_urls: options.fetches_urls ?? false,
    inputs: options.inputs ?? 'url',
    get takes_reasoning() {
      return servers.some(({ form }) => form.reasoning_content_input)
    },
    async generate(request, signal) {
      signal.throwIfAborted()
      const started = servers.length > 1 ? chance.now() : 0
      const tried: number[] = []
      let refused: EngineError | null = null
      let server = health.pick(tried, { healthy: false })
      while (server !== null) {
        const total_ms = tried.length === 0 ? limits.total_ms : Math.ceil(limits.total_ms - (chance.now() - started))
        if (total_ms <= 0) break
        const outcome = await ask(server, request, signal, total_ms)
        if (outcome.accepted !== null) return outcome.accepted
        tried.push(server)
        logIfOperatorNeeded(env.log, outcome.refused)
        if (outcome.refused.retry_after_seconds !== undefined) health.pause(server, outcome.refused.retry_after_seconds)
        refused = betterOf(refused, outcome.refused)
        if (outcome.sent && outcome.refused.kind !== 'overloaded') break
        server = health.pick(tried, { healthy: outcome.sent })
      }
      throw refused ?? new EngineError('timeout', 'The model server did not answer in time.')
    },
    breakers: () => servers.map((_, i) => health.stateOf(i)),
    async close() {
      await Promise.all(servers.map(({ pool }) => pool.destroy()))
    },
  }
}

function readerOf(request: ChatRequest, stream: boolean, words: ReturnType<typeof readWords>) {
  return completionReader({
    choices: request.n,
    logprobs: request.logprobs === true,
    plain: !stream,
    words,
    tools: request.tools?.map((tool) => tool.function.name) ?? [],
  })
}

/** What the log may not hold, although a server may say it. */
function secretsOf({ base_url, endpoints = [], api_key, headers = {} }: OpenaiChatOptions): string[] {
  const urls = [base_url, ...endpoints.map((each) => each.base_url)].flatMap((url) => (url ? [new URL(url)] : []))
  const hosts = urls.flatMap(({ host, hostname }) => [host, hostname])
  return [api_key, ...endpoints.map((each) => each.api_key), ...Object.values(headers), ...hosts].filter(
    (each) => each !== undefined,
  )
}

function limitsOf(options: OpenaiChatOptions, { upstream }: OpenaiChatEnv): CompletionCallLimits {
  return {
    idle_ms: (options.idle_seconds ?? upstream?.idle_seconds ?? 120) * 1000,
    total_ms: (options.total_seconds ?? upstream?.total_seconds ?? 900) * 1000,
  }
}

function formOf(options: OpenaiChatOptions): RequestForm {
  return {
    developer_role: options.developer_role ?? false,
    reasoning_content_input: options.reasoning_content_input ?? false,
    max_tokens_field: options.max_tokens_field ?? 'max_completion_tokens',
    system_messages: options.system_messages ?? 'merged',
    assistant_after_tool: options.assistant_after_tool ?? false,
    accepts: options.accepts,
    parallel_tool_calls: options.parallel_tool_calls ?? true,
    stream_plain: options.stream_plain ?? false,
    refused: new Set(),
  }
}

type Server = { pool: Pool; target: CallTarget; weight: number; model: string | undefined; form: RequestForm }
type Asking = [request: ChatRequest, signal: AbortSignal, total_ms: number]

/** Framing, connection and coding are ours: a server that compresses its reply holds pieces back. */
const RESERVED_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'expect',
  'upgrade',
  'keep-alive',
])

/** More than the streams one process can serve, so that no request waits for a connection. */
const CONNECTIONS = 4096
const CONNECT_MS = 10_000

function openServers(options: OpenaiChatOptions, form: RequestForm): Server[] {
  const { endpoints = [{ base_url: options.base_url! }], connections = CONNECTIONS } = options
  return endpoints.map(({ base_url, api_key = options.api_key, weight = 1, model }) => {
    const base = new URL(withVersion(base_url))
    const pool = new Pool(base.origin, { connections, pipelining: 1, allowH2: false, connectTimeout: CONNECT_MS })
    const path = `${base.pathname}/chat/completions`
    const target = { dispatcher: pool, path, headers: headersOf(api_key, options.headers) }
    return { pool, target, weight, model, form }
  })
}

/** Names and values in turn, as undici writes them fastest. */
function headersOf(api_key: string | undefined, own: Record<string, string> = {}): string[] {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    'user-agent': 'kinora',
    ...(api_key === undefined || api_key === '' ? {} : { authorization: `Bearer ${api_key}` }),
  }
  for (const [name, value] of Object.entries(own)) headers[name.toLowerCase()] = value
  return Object.entries(headers).flat()
}

/** A server that refuses a request is healthy. */
function healthAfter({ kind }: EngineError): 'worked' | 'failed' {
  return kind === 'rejected' || kind === 'moderation' || kind === 'context_length' ? 'worked' : 'failed'
}

/** Of the refusals of several servers, the one that names a time to retry. */
function betterOf(before: EngineError | null, now: EngineError): EngineError {
  return before?.kind === 'overloaded' && now.kind !== 'overloaded' ? before : now
}

function logForm(log: OpenaiChatEnv['log'], { detail, needs_operator }: FormAdvice): void {
  if (needs_operator) log?.error('chat_engine_needs_operator', { engine: 'openai', detail })
  else log?.warn('chat_engine_form_refused', { engine: 'openai', detail })
}

function logIfOperatorNeeded(log: Pick<Log, 'error'> | undefined, error: EngineError): void {
  if (error.needs_operator) log?.error('chat_engine_needs_operator', { engine: 'openai', detail: withReason(error) })
}
