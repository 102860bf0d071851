import type { Config } from '../config/config.ts'
import type { Secrets, Settings } from '../context.ts'
import type { EngineEnv } from '../engines/engine-entry.ts'
import { engineMeasurer } from '../engines/measured.ts'
import { buildEngines, type Engines } from '../engines/registry.ts'
import type { SharedEngines } from '../engines/shared-engines.ts'
import { CHILDREN_DEFAULT, limitChildren } from '../media/children/concurrency-limit.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import type { Tracing } from '../platform/tracing/tracing.ts'

type SettingsOptions = {
  config: Config
  secret: string
  log: Log
  work_dir: string
  /** Takes the place of the configured engines. */
  engines?: Engines
}

/** The secrets of a configuration, the one in use first. */
export function secretsOf({ config, secret }: { config: Config; secret: string }): Secrets {
  return [secret, ...config.previous_secrets]
}

/** Builds what a configuration sets up in this process: its engines, where they did not change those of the configuration before. */
export function openSettings(options: SettingsOptions, telemetry: { metrics: Metrics; tracing: Tracing | null }) {
  const shared: SharedEngines = new Map()
  const measured = engineMeasurer(telemetry)
  let listening_at = ''
  const reachAt = (site: Settings['site'], url: string, config = options.config) => {
    listening_at = url
    site.public_url = config.public_url ?? url
    site.engine_url = config.engine_url ?? site.public_url
  }
  const build = (next: { config: Config; secret: string }, before?: Settings): Settings => {
    const { config, secret } = next
    const { upstream_idle_seconds: idle_seconds, upstream_total_seconds: total_seconds } = config.limits
    const upstream = { idle_seconds, total_seconds }
    const env: EngineEnv = { work_dir: options.work_dir, config_dir: config.config_dir, log: options.log, upstream }
    const built = options.engines ?? buildEngines(config, env, { shared })
    const engines = measured(built, config, before?.engines)
    const site = { public_url: '', engine_url: '' }
    if (listening_at !== '') reachAt(site, listening_at, config)
    return { config, engines, secret, secrets: secretsOf(next), site }
  }
  const first = build(options)
  limitMedia(options)
  return { first, build, reachAt }
}

/** Has this process run as many media children as the configuration allows. */
export function limitMedia({ config }: { config: Config }): void {
  limitChildren(config.limits.media_children ?? CHILDREN_DEFAULT)
}
