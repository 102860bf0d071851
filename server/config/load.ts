import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StartError } from '../platform/start-error.ts'
import { complete } from './complete.ts'
import type { Config } from './config.ts'
import { LOG_LEVELS, POOL_LEAST, ROLES } from './file.ts'
import type { EngineCheck } from './meaning.ts'
import { type ConfigMistake, choiceSetting, integerSetting } from './mistake.ts'
import { readConfigFile } from './read.ts'
import { readSecrets } from './secrets.ts'
import { isShared } from './storage.ts'
import { completeMetrics, completeTracing } from './telemetry.ts'

export type ConfigFlags = {
  host?: string
  port?: string
  data_dir?: string
  config?: string
  workers?: string
  role?: string
}

/**
 * Reads flags, environment and file, in that order of precedence, and validates all of it.
 * `checkEngine` null is for commands that start no engine: models, prompt help, engines and logins are left out, with the secrets they name. So is
 * `storage`, unless they open it.
 * Throws StartError naming every mistake with its place.
 */
export function loadConfig(
  flags: ConfigFlags,
  environment: NodeJS.ProcessEnv,
  checkEngine: EngineCheck | null,
  { storage = false }: { storage?: boolean } = {},
): Config {
  const env = withoutEmptySettings(environment)
  const path = flags.config ?? env.KINORA_CONFIG
  const config_dir = path === undefined ? process.cwd() : dirname(resolve(path))
  const text = path === undefined ? '' : readText(path)
  const { file, mistakes: found } = readConfigFile(text, {
    name: path ?? 'kinora.yaml',
    config_dir,
    env,
    checkEngine,
    storage,
  })
  const port = integerSetting({ flag: flags.port, env: env.KINORA_PORT, name: 'port', min: 0, max: 65_535 }, found)
  const workers = integerSetting(
    { flag: flags.workers, env: env.KINORA_WORKERS, name: 'workers', min: 1, max: 64 },
    found,
  )
  const drain = integerSetting(
    { flag: undefined, env: env.KINORA_DRAIN_SECONDS, name: 'drain_seconds', min: 0, max: 300 },
    found,
  )
  const pool = integerSetting(
    { flag: undefined, env: env.KINORA_DATABASE_POOL, name: 'database_pool', min: POOL_LEAST, max: 500 },
    found,
  )
  const secrets = readSecrets(env, found)
  const metrics = completeMetrics(file.metrics, env, found)
  const tracing = completeTracing(file.tracing, env, found)
  const log_level = choiceSetting({ env: env.KINORA_LOG_LEVEL, name: 'log_level', choices: LOG_LEVELS }, found)
  const role = choiceSetting({ flag: flags.role, env: env.KINORA_ROLE, name: 'role', choices: ROLES }, found)
  const database_url = env.DATABASE_URL ?? null
  if (database_url && !/^postgres(ql)?:\/\//.test(database_url)) {
    found.push({ place: 'DATABASE_URL', message: 'must begin with postgres:// or postgresql://' })
  }
  if (found.length > 0) throw new StartError(describeMistakes(found))
  const settings = complete(file)
  return {
    ...settings,
    host: flags.host ?? env.KINORA_HOST ?? file.host ?? '127.0.0.1',
    port: port ?? file.port ?? 8080,
    config_dir,
    data_dir: resolve(flags.data_dir ?? env.KINORA_DATA_DIR ?? file.data_dir ?? '.kinora'),
    workers: workers ?? file.workers ?? 1,
    role: role ?? file.role ?? 'all',
    // A node of several is unready first, so that the proxy sends requests to the others. Beside a single one there are no others.
    drain_seconds: drain ?? file.drain_seconds ?? (database_url && isShared(settings.storage) ? 5 : 0),
    database: { pool: pool ?? file.database?.pool ?? 10 },
    log_level: log_level ?? file.log_level ?? 'info',
    database_url,
    metrics,
    tracing,
    ...secrets,
  }
}

/** A variable that is set to nothing, as by a Compose file without a value for it, is not set. An empty secret stays a mistake. */
function withoutEmptySettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isKept = ([name, value]: [string, string | undefined]) =>
    value !== '' || !/^(KINORA_|DATABASE_URL$)/.test(name) || name.startsWith('KINORA_SECRET')
  return Object.fromEntries(Object.entries(env).filter(isKept))
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new StartError(`Cannot read the configuration ${path}: ${(error as Error).message}`)
  }
}

function describeMistakes(mistakes: readonly ConfigMistake[]): string {
  const lines = mistakes.map(({ place, message }) => `  ${place}: ${message}`)
  return `The configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${lines.join('\n')}`
}
