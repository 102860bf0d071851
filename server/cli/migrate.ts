import { loadConfig } from '../config/load.ts'
import { openLog } from '../platform/log.ts'
import { openDatabase } from './database.ts'
import { describeFlags, type Flags, parseFlags, rejectArguments, UsageError } from './flags.ts'

const FLAGS = {
  'data-dir': { value: '<path>', help: 'Of the service; KINORA_DATA_DIR, else .kinora' },
  config: { value: '<path>', help: 'kinora.yaml; KINORA_CONFIG' },
  help: { help: 'Show this' },
} as const satisfies Flags

const USAGE = `kinora migrate [flags]\n\nBrings the database up to date and exits; serve does it too.\n\n${describeFlags(FLAGS)}\n`

/** `kinora migrate`: applies what is missing and exits. Returns the exit code: 0 done, 2 for wrong usage. */
export async function runMigrate(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const { given, positionals } = parseFlags(args, FLAGS)
    rejectArguments(args, positionals)
    if (given.help) {
      process.stdout.write(USAGE)
      return 0
    }
    const config = loadConfig({ data_dir: given['data-dir'], config: given.config }, env, null, { storage: true })
    const database = await openDatabase(config, openLog(config.log_level))
    await database.stop()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`kinora migrate: ${error.message}\n\n${USAGE}`)
    return 2
  }
  process.stdout.write('kinora: the database is up to date\n')
  return 0
}
