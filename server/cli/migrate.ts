import { parseArgs } from 'node:util'
import { engineMistakes } from '../engines/registry.ts'
import { loadConfig } from '../platform/config.ts'
import { openLog } from '../platform/log.ts'
import { openDatabase } from './database.ts'

/** `kinora migrate`: applies what is missing and exits. */
export async function runMigrate(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ args, options: { 'data-dir': text, config: text } })
  const config = loadConfig({ data_dir: values['data-dir'], config: values.config }, env, engineMistakes)
  const database = await openDatabase(config, openLog(config.log_level))
  await database.stop()
  process.stdout.write('kinora: the database is up to date\n')
  return 0
}
