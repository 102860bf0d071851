import Type, { type Static } from 'typebox'
import type { ConfigMistake } from './mistake.ts'
import { integerSetting } from './mistake.ts'
import { Strict } from './models.ts'

/** Where metrics are served. */
export type MetricsConfig = { host: string; port: number }

/** Where traces are sent. `sample_ratio`: the share of traces that are kept, above 0 and at most 1. */
export type TracingConfig = {
  otlp_url: string
  headers: Readonly<Record<string, string>>
  sample_ratio: number
  service_name: string
}

const HTTP_URL = '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$'

export const MetricsSettings = Type.Object(
  {
    host: Type.Optional(Type.String({ description: 'Default 127.0.0.1. There is no login on this port.' })),
    port: Type.Integer({ minimum: 0, maximum: 65_535, description: '9464 is usual; 0 picks a free one.' }),
  },
  Strict,
)

export const TracingSettings = Type.Object(
  {
    otlp_url: Type.Optional(
      Type.String({
        pattern: HTTP_URL,
        description: 'OTLP over HTTP, with its path, such as http://127.0.0.1:4318/v1/traces.',
        patternErrorMessage: 'must begin with http:// or https:// and have no query',
      }),
    ),
    headers: Type.Optional(Type.Object({}, { additionalProperties: Type.String() })),
    sample_ratio: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 1, description: 'The share of traces that are kept. Default 1.' }),
    ),
    service_name: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Default kinora.' })),
  },
  Strict,
)

/** Null: metrics are not served. */
export function completeMetrics(
  file: Static<typeof MetricsSettings> | undefined,
  env: NodeJS.ProcessEnv,
  found: ConfigMistake[],
): MetricsConfig | null {
  const given = integerSetting(
    { flag: undefined, env: env.KINORA_METRICS_PORT, name: 'metrics_port', min: 0, max: 65_535 },
    found,
  )
  const port = given ?? file?.port ?? null
  return port === null ? null : { host: file?.host ?? '127.0.0.1', port }
}

/**
 * Null: no traces. The variables are those of every OpenTelemetry SDK, and come before the file.
 * Source: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export function completeTracing(
  file: Static<typeof TracingSettings> | undefined,
  env: NodeJS.ProcessEnv,
  found: ConfigMistake[],
): TracingConfig | null {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none') return null
  const otlp_url = urlOf(env) ?? file?.otlp_url ?? null
  if (otlp_url === null) return null
  if (!new RegExp(HTTP_URL).test(otlp_url)) {
    const place = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
      ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
      : 'OTEL_EXPORTER_OTLP_ENDPOINT'
    found.push({ place, message: 'must begin with http:// or https:// and have no query' })
  }
  for (const place of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    if (env[place] === 'grpc')
      found.push({ place, message: 'is grpc, and Kinora sends traces over HTTP alone, usually to port 4318' })
  }
  return {
    otlp_url,
    headers: (file?.headers as Record<string, string> | undefined) ?? {},
    sample_ratio: file?.sample_ratio ?? 1,
    service_name: env.OTEL_SERVICE_NAME || (file?.service_name ?? 'kinora'),
  }
}

/** The first is used as it is; to the second, which is for all signals, the path of traces is added. */
function urlOf(env: NodeJS.ProcessEnv): string | null {
  if (env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) return env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT
  return base ? `${base.replace(/\/+$/, '')}/v1/traces` : null
}
