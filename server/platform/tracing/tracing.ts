/** A span as others refer to it: 32 and 16 hexadecimal digits. `remote`: it is, or may be, of another process. */
export type SpanContext = { trace_id: string; span_id: string; sampled: boolean; remote?: boolean }

/** Never a prompt, an answer, a header or a URL with a query: what a span may carry is what a log line may. */
export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

export type Span = {
  context: SpanContext
  set(attributes: Attributes): void
  /** `error`: a code of ours or of the field's convention, never a message. `at`: default now. */
  end(options?: { error?: string | undefined; at?: Date }): void
}

export type SpanOptions = {
  kind: 'server' | 'client' | 'internal'
  /** Default: the span around this code, as `within` set it. Null begins a trace. */
  parent?: SpanContext | null
  /** In place of random ids, for a span that several processes refer to. Without a parent it names the trace too. */
  id?: { trace_id: string; span_id: string }
  links?: readonly SpanContext[]
  attributes?: Attributes
  /** Default now. */
  at?: Date
}

/** Traces of this process. Null in its place means that none are made, and costs nothing. */
export type Tracing = {
  start(name: string, options: SpanOptions): Span
  /** Runs `work` with this span as the parent of those it starts. */
  within<T>(span: SpanContext, work: () => T): T
  /** The parent of spans that are started here; null outside of any. */
  current(): SpanContext | null
  /** Sends what has not been sent. Waits no longer than a few seconds. */
  close(): Promise<void>
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/

/** The span of a client from its header; null when there is none or it is malformed. Source: https://www.w3.org/TR/trace-context/ */
export function readTraceparent(header: string | string[] | undefined): SpanContext | null {
  if (typeof header !== 'string' || header.startsWith('ff')) return null
  const [, trace_id, span_id, flags] = TRACEPARENT.exec(header) ?? []
  if (!trace_id || !span_id || /^0+$/.test(trace_id) || /^0+$/.test(span_id)) return null
  return { trace_id, span_id, sampled: (Number.parseInt(flags!, 16) & 1) === 1, remote: true }
}

/** Runs a call inside a span that ends with it. `codeOf`: the code of an error. Without tracing only the call is made. */
export async function traced<T>(
  tracing: Tracing | null,
  [name, options]: [name: string, options: () => SpanOptions],
  codeOf: (error: unknown) => string,
  call: () => Promise<T>,
): Promise<T> {
  if (!tracing) return call()
  const span = tracing.start(name, options())
  try {
    const result = await tracing.within(span.context, call)
    span.end()
    return result
  } catch (error) {
    span.end({ error: codeOf(error) })
    throw error
  }
}
