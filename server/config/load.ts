import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StartError } from '../platform/start-error.ts'
import { complete } from './complete.ts'
import type { Config } from './config.ts'
import { LOG_LEVELS } from './file.ts'
import type { EngineCheck } from './meaning.ts'
import { integerSetting, type Mistake } from './mistake.ts'
import { readConfigFile } from './read.ts'
import { readSecrets } from './secrets.ts'

export type ConfigFlags = { host?: string; port?: string; data_dir?: string; config?: string; workers?: string }

/**
 * Reads flags, environment and file, in that order of precedence, and validates all of it.
 * `checkEngine` null is for commands that start no engine: models, engines and logins are left out, with the secrets they name. So is
 * `storage`, unless they open it.
 * Throws StartError naming every mistake with its place.
 */
export function loadConfig(
  flags: ConfigFlags,
  env: NodeJS.ProcessEnv,
  checkEngine: EngineCheck | null,
  { storage = false }: { storage?: boolean } = {},
): Config {
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
  const secrets = readSecrets(env, found)
  const log_level = env.KINORA_LOG_LEVEL || null
  if (log_level !== null && !LOG_LEVELS.some((each) => each === log_level)) {
    found.push({ place: 'KINORA_LOG_LEVEL', message: `must be one of ${LOG_LEVELS.join(', ')}` })
  }
  const database_url = env.DATABASE_URL || null
  if (database_url && !/^postgres(ql)?:\/\//.test(database_url)) {
    found.push({ place: 'DATABASE_URL', message: 'must begin with postgres:// or postgresql://' })
  }
  if (found.length > 0) throw new StartError(describeMistakes(found))
  return {
    ...complete(file),
    host: flags.host ?? env.KINORA_HOST ?? file.host ?? '127.0.0.1',
    port: port ?? file.port ?? 8080,
    config_dir,
    data_dir: resolve(flags.data_dir ?? env.KINORA_DATA_DIR ?? file.data_dir ?? '.kinora'),
    workers: workers ?? file.workers ?? 1,
    log_level: log_level ?? file.log_level ?? 'info',
    database_url,
    ...secrets,
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new StartError(`Cannot read the configuration ${path}: ${(error as Error).message}`)
  }
}

function describeMistakes(mistakes: readonly Mistake[]): string {
  const lines = mistakes.map(({ place, message }) => `  ${place}: ${message}`)
  return `The configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${lines.join('\n')}`
}
