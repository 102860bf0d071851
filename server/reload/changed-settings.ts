import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.ts'
import type { Secrets } from '../context.ts'
import { StartError } from '../platform/start-error.ts'

type Kind = 'reload' | 'restart' | Readonly<Record<string, 'reload' | 'restart'>>

/** Whether a running process takes a setting up, or only a start does. */
const SETTINGS = {
  host: 'restart',
  port: 'restart',
  data_dir: 'restart',
  config_dir: 'restart',
  workers: 'restart',
  role: 'restart',
  drain_seconds: 'restart',
  database: 'restart',
  log_level: 'reload',
  database_url: 'restart',
  // Every balance and price that is stored is an amount of it.
  currency: 'restart',
  public_url: 'reload',
  engine_url: 'reload',
  trusted_proxies: 'restart',
  cors: 'reload',
  content_delivery: 'restart',
  signed_url_ttl_seconds: 'reload',
  api_key_prefix: 'reload',
  activity_retention_days: 'reload',
  terms: 'reload',
  login: 'reload',
  plans: 'reload',
  default_plan: 'reload',
  video_models: 'reload',
  chat_models: 'reload',
  moderation: 'reload',
  moderation_media: 'reload',
  moderation_output: 'reload',
  transcription: 'reload',
  translation: 'reload',
  prompt_help: 'reload',
  sharing: 'reload',
  storage: 'restart',
  webhooks: 'reload',
  metrics: 'restart',
  tracing: 'restart',
  limits: {
    queue_seconds: 'reload',
    response_queue_seconds: 'reload',
    render_seconds: 'reload',
    stalled_after_seconds: 'reload',
    upstream_idle_seconds: 'reload',
    upstream_total_seconds: 'reload',
    pipeline_concurrency: 'restart',
    request_mebibytes: 'restart',
    media_children: 'reload',
  },
  // Read by the very first start alone.
  first_run: 'reload',
  secret: 'reload',
  previous_secrets: 'reload',
} as const satisfies Record<keyof Config, Kind> & { limits: Record<keyof Config['limits'], Kind> }

/** A configuration with the secrets in use, which the file of the data directory may hold. */
export type Configured = { config: Config; secrets: Secrets }

/**
 * The names of the settings that differ, such as `plans.free.requests_per_minute`, without their values.
 * Throws StartError, with every name, when one of them needs a restart, and when signatures of the secret in use would no longer be accepted.
 */
export function changedSettings(before: Configured, next: Configured): string[] {
  const names = differences(withSecrets(before), withSecrets(next), [])
  const fixed = names.filter((name) => kindOf(name.split('.')) === 'restart')
  if (fixed.length > 0) {
    throw new StartError(
      `Nothing was changed: ${fixed.join(', ')} cannot change while the service runs. Restart it, or put back what it was started with.`,
    )
  }
  if (!next.secrets.includes(before.secrets[0])) {
    throw new StartError(
      'Nothing was changed: the secret in use is neither the new one nor among the previous ones, so that everybody would be signed out. Name it as a previous secret first.',
    )
  }
  return names
}

function withSecrets({ config, secrets: [secret, ...previous_secrets] }: Configured): Config {
  return { ...config, secret, previous_secrets }
}

function kindOf([first = '', second = '']: readonly string[]): 'reload' | 'restart' {
  const kind: Kind = SETTINGS[first.replace(/ \(\w+\)$/, '') as keyof typeof SETTINGS]
  return typeof kind === 'string' ? kind : (kind[second] ?? 'reload')
}

function differences(before: unknown, next: unknown, path: readonly string[]): string[] {
  if (isDeepStrictEqual(before, next)) return []
  const [was, is] = [membersOf(before), membersOf(next)]
  if (was === null || is === null) return [path.join('.')]
  const found = [...new Set([...was.keys(), ...is.keys()])].flatMap((name) => {
    const inner = [...path, name]
    if (!was.has(name)) return [`${inner.join('.')} (added)`]
    return is.has(name) ? differences(was.get(name), is.get(name), inner) : [`${inner.join('.')} (removed)`]
  })
  return found.length > 0 ? found : [`${path.join('.')} (order)`]
}

/** Members by name; those of a list by their `id` or `name`. Null for what is compared as a whole. */
function membersOf(value: unknown): ReadonlyMap<string, unknown> | null {
  if (value instanceof Map) return value
  if (Array.isArray(value)) {
    const names = value.map((each: { id?: unknown; name?: unknown } | null) => each?.id ?? each?.name)
    if (value.length === 0 || names.some((name) => typeof name !== 'string')) return null
    return new Map(value.map((each, i) => [names[i] as string, each]))
  }
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : null
}
