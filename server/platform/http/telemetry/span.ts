import type { FastifyReply, FastifyRequest } from 'fastify'
import { readTraceparent, type Span, type Tracing } from '../../tracing/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null where there are no traces. */
    span: Span | null
  }
}

/**
 * Begins the span of a request, as part of the client's trace when it names one. The route stands for the path, which may hold ids.
 * Source: https://opentelemetry.io/docs/specs/semconv/http/http-spans/, version 1.45.0
 */
export function startRequestSpan(tracing: Tracing, request: FastifyRequest): void {
  const route = request.routeOptions.url
  const method = request.method
  request.span = tracing.start(route === undefined ? method : `${method} ${route}`, {
    kind: 'server',
    parent: readTraceparent(request.headers.traceparent),
    attributes: { 'http.request.method': method, 'http.route': route, 'kinora.request_id': request.id },
  })
}

/** Ends it with the answer. An error of the client is none of ours. */
export function endRequestSpan({ span }: FastifyRequest, { statusCode }: FastifyReply): void {
  span?.set({ 'http.response.status_code': statusCode })
  span?.end(statusCode >= 500 ? { error: String(statusCode) } : {})
}
