import type { TSchema } from 'typebox'
import type { Endpoint } from './identity/endpoint.ts'

/** OpenAPI 3.1 from the very schemas that validate. */
export function describeApi(endpoints: readonly Endpoint[]): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const spec of endpoints) {
    if (spec.internal) continue
    const path = spec.path.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][spec.method.toLowerCase()] = describeOperation(spec)
  }
  return { openapi: '3.1.0', info: { title: 'Kinora', version: '1' }, paths }
}

function describeOperation(spec: Endpoint): Record<string, unknown> {
  return { summary: spec.summary, requestBody: spec.body && { content: { 'application/json': { schema: spec.body as TSchema } } } }
}
