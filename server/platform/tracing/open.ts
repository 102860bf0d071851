import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Context, Span as OtelSpan } from '@opentelemetry/api'
import type { Log, LogFields } from '../log.ts'
import { StartError } from '../start-error.ts'
import { withTimeout } from '../timeout.ts'
import type { Attributes, Span, SpanContext, SpanOptions, Tracing } from './tracing.ts'

/** The packages that make and send traces, as tried. They are installed by those who want traces. */
const PACKAGES: Readonly<Record<string, string>> = {
  '@opentelemetry/api': '1.10.0',
  '@opentelemetry/exporter-trace-otlp-http': '0.301.0',
  '@opentelemetry/resources': '3.1.1',
  '@opentelemetry/sdk-trace': '3.1.0',
}

export type TracingOptions = {
  otlp_url: string
  headers: Readonly<Record<string, string>>
  /** The share of traces that are kept. It is decided by the trace's id, so that all processes decide alike. */
  sample_ratio: number
  service_name: string
  version: string
  log: Log
}

/** Longest the last spans may take to be sent when the process ends. */
const CLOSE_MILLISECONDS = 3000

/** Makes spans and sends them in batches. Throws StartError, naming what to install, when a package is missing. */
export async function openTracing(options: TracingOptions): Promise<Tracing> {
  const collector = watchCollector(options.otlp_url)
  const { api, provider, ids } = await openProvider(options, collector)
  const tracer = provider.getTracer('kinora', options.version)
  const around = new AsyncLocalStorage<SpanContext>()
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT, internal: api.SpanKind.INTERNAL }
  return {
    start(name, { kind, parent = around.getStore() ?? null, id, links = [], attributes = {}, at }) {
      ids.next = id ?? null
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          links: links.map((link) => ({ context: toOtel(link) })),
          attributes: attributes as never,
          ...(at && { startTime: at }),
        },
        parent ? api.trace.setSpanContext(api.ROOT_CONTEXT, toOtel(parent)) : (api.ROOT_CONTEXT satisfies Context),
      )
      ids.next = null
      return spanOf(span, api.SpanStatusCode.ERROR)
    },
    within: (span, work) => around.run(span, work),
    current: () => around.getStore() ?? null,
    async close() {
      const sent = provider.shutdown().catch((error) => options.log.warn('tracing_failed', failureOf(error, collector)))
      await withTimeout(CLOSE_MILLISECONDS, sent, () => {})
      collector.close()
    },
  }
}

async function openProvider(
  { otlp_url, headers, sample_ratio, service_name, version, log }: TracingOptions,
  collector: Collector,
) {
  const [api, exporting, resources, sdk] = await loadPackages()
  const ratio = new sdk.TraceIdRatioBasedSampler(sample_ratio)
  const ids = forcedIds(new sdk.RandomIdGenerator())
  api.diag.setLogger(
    { ...SILENT, error: (text) => log.warn('tracing_failed', failureOf(membersOf(text), collector)) },
    { logLevel: api.DiagLogLevel.ERROR, suppressOverrideMessage: true },
  )
  const resource = resources
    .defaultResource()
    .merge(
      resources
        .detectResources({ detectors: [resources.envDetector] })
        .merge(resources.resourceFromAttributes({ 'service.name': service_name, 'service.version': version })),
    )
  const exporter = new exporting.OTLPTraceExporter({ url: otlp_url, headers: { ...headers } })
  const provider = new sdk.TracerProvider({
    resource,
    idGenerator: ids,
    // What a client asks to be sampled is subject to the share as well: it may not decide how much is sent.
    sampler: new sdk.ParentBasedSampler({ root: ratio, remoteParentSampled: ratio }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  })
  return { api, provider, ids }
}

type Collector = { url: string; lastStatus(): number | undefined; close(): void }

/** The SDK does not say with which status the collector refused what may be sent again, so its answers are watched. */
function watchCollector(url: string): Collector {
  const { host, pathname } = new URL(url)
  let status: number | undefined
  // Source: https://nodejs.org/api/diagnostics_channel.html#http
  const onFinish = (message: unknown) => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
    const isExport = request.getHeader('host') === host && request.path.startsWith(pathname)
    if (isExport) status = response.statusCode
  }
  subscribe(FINISHED, onFinish)
  return { url, lastStatus: () => status, close: () => void unsubscribe(FINISHED, onFinish) }
}

const FINISHED = 'http.client.response.finish'

type Failure = { message?: string; code?: string | number }

/** What a failed export leaves in the log. */
function failureOf({ message, code }: Failure, { url, lastStatus }: Collector): LogFields {
  // A code of the network is one of letters.
  const status = code === undefined ? lastStatus() : Number(code) || undefined
  return { url, status, detail: message ?? `${code}` }
}

/** Of an error that the SDK reports as a JSON object of texts. Source: `loggingErrorHandler` of @opentelemetry/core. */
function membersOf(text: string): Failure {
  try {
    return JSON.parse(text)
  } catch {
    return { message: text }
  }
}

const SILENT = { error() {}, warn() {}, info() {}, debug() {}, verbose() {} }

async function loadPackages() {
  try {
    return await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace'),
    ])
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const all = Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`)
    throw new StartError(
      `Tracing is configured, and its packages are not installed. In Kinora's directory, run: npm install ${all.join(' ')}\n` +
        'Or leave out tracing, or set OTEL_SDK_DISABLED=true.',
    )
  }
}

type Ids = { generateTraceId(): string; generateSpanId(): string }

/** Random ids, unless `next` says which. The SDK asks for them while a span is started, before anything else runs. */
function forcedIds(random: Ids): Ids & { next: SpanOptions['id'] | null } {
  return {
    next: null,
    generateTraceId() {
      return this.next?.trace_id ?? random.generateTraceId()
    },
    generateSpanId() {
      return this.next?.span_id ?? random.generateSpanId()
    },
  }
}

function spanOf(span: OtelSpan, failed: number): Span {
  const { traceId: trace_id, spanId: span_id, traceFlags } = span.spanContext()
  return {
    context: { trace_id, span_id, sampled: (traceFlags & 1) === 1 },
    set: (attributes: Attributes) => void span.setAttributes(attributes as never),
    end({ error, at } = {}) {
      if (error !== undefined) span.setAttribute('error.type', error).setStatus({ code: failed })
      span.end(at)
    },
  }
}

function toOtel({ trace_id: traceId, span_id: spanId, sampled, remote: isRemote = false }: SpanContext) {
  return { traceId, spanId, traceFlags: sampled ? 1 : 0, isRemote }
}
