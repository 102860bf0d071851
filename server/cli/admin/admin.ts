import type { Config } from '../../config/config.ts'
import { loadConfig } from '../../config/load.ts'
import { operatorHere } from '../../identity/activity/operator.ts'
import { BlobsAway } from '../../platform/blobs/blobs.ts'
import { askForTime, type DatabaseClock, followDatabaseClock } from '../../platform/db/database-clock.ts'
import { ApiError } from '../../platform/errors.ts'
import { asSentence } from '../../platform/text.ts'
import { describeFlags, type Flags, parseFlags, rejectArguments, UsageError, wordsBeforeFlags } from '../flags.ts'
import { activityLog } from './activity.ts'
import { backup, restore } from './backup/commands.ts'
import { blobsMove } from './blobs.ts'
import { type Command, CommandError, type Report } from './command.ts'
import { openAdminDatabase } from './database.ts'
import { keyList, orgList, userList } from './lists.ts'
import { jobShow } from './look-up/job.ts'
import { jobList } from './look-up/jobs.ts'
import { responseList } from './look-up/responses.ts'
import { chargedUsage } from './look-up/usage.ts'
import { webhookList } from './look-up/webhooks.ts'
import { databaseAdopt, databaseMove } from './move.ts'
import { nodes, secretForget } from './nodes.ts'
import { incidents } from './operate/incidents.ts'
import { status } from './operate/status.ts'
import { engineDrain, enginePause, engineResume, intakePause, intakeResume } from './operate/switches.ts'
import {
  keyCreate,
  keyRevoke,
  orgCreate,
  planSet,
  userCreate,
  userResetPassword,
  userResetTwoFactor,
} from './people.ts'
import { reload } from './reload.ts'
import { audit, creditsGrant, jobCancel } from './work.ts'

/** Every command by its words. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.entries<Command>({
    'org create': orgCreate,
    'org list': orgList,
    'user create': userCreate,
    'user list': userList,
    'user reset-password': userResetPassword,
    'user reset-two-factor': userResetTwoFactor,
    'key create': keyCreate,
    'key list': keyList,
    'key revoke': keyRevoke,
    'credits grant': creditsGrant,
    'plan set': planSet,
    'job list': jobList,
    'job show': jobShow,
    'job cancel': jobCancel,
    'response list': responseList,
    'webhook list': webhookList,
    usage: chargedUsage,
    backup,
    restore,
    'database move': databaseMove,
    'database adopt': databaseAdopt,
    'blobs move': blobsMove,
    nodes,
    'secret forget': secretForget,
    'engine pause': enginePause,
    'engine drain': engineDrain,
    'engine resume': engineResume,
    'intake pause': intakePause,
    'intake resume': intakeResume,
    status,
    incidents,
    audit,
    reload,
    log: activityLog,
  }),
)

/** Flags of every command. */
const SHARED = {
  json: { help: 'Print one JSON object' },
  'data-dir': { value: '<path>', help: 'Of the service; KINORA_DATA_DIR, else .kinora' },
  config: { value: '<path>', help: 'kinora.yaml; KINORA_CONFIG' },
  help: { help: 'Show this' },
} as const satisfies Flags

/** `kinora admin ...`, beside a running service or without one. Returns the exit code: 1 for what failed, 2 for wrong usage. */
export async function runAdmin(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [name, rest] = splitCommand(args)
  const command = COMMANDS.get(name)
  if (!command) {
    const asked = args.length === 0 || args.includes('--help') || args.includes('-h')
    const words = wordsBeforeFlags(args).slice(0, 2)
    const complaint = asked ? '' : `kinora admin: ${['unknown command', ...words].join(' ')}\n\n`
    process[asked ? 'stdout' : 'stderr'].write(complaint + overview())
    return asked && args.length > 0 ? 0 : 2
  }
  try {
    return await runCommand(name, command, rest, env)
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`kinora admin ${name}: ${error.message}\n\n${usage(name, command)}`)
      return 2
    }
    process.stderr.write(`kinora admin ${name}: ${explain(error)}\n`)
    return 1
  }
}

async function runCommand(name: string, command: Command, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(usage(name, command))
    return 0
  }
  // An id may be given without its flag: `key revoke key_...`.
  const first = 'id' in command.flags ? 'id' : undefined
  const { given, positionals } = parseFlags(args, { ...command.flags, ...SHARED }, { first })
  rejectArguments(args, positionals)
  const { config: path, 'data-dir': data_dir } = given
  const config = loadConfig({ config: path, data_dir }, env, null, {
    storage: 'runAlone' in command || command.storage === true,
  })
  const values = given as unknown as Record<string, string | undefined>
  const printDatabase = (name_of_database: string) =>
    process.stderr.write(`kinora admin ${name}: working on ${name_of_database}\n`)
  const report =
    'runAlone' in command
      ? await command.runAlone({ config, actor: operatorHere() }, values)
      : await runBeside(command, config, { values, printDatabase })
  process.stdout.write(given.json ? `${JSON.stringify(report.json)}\n` : aligned(report))
  return report.exit_code ?? 0
}

async function runBeside(
  command: Extract<Command, { run: unknown }>,
  config: Config,
  { values, printDatabase }: { values: Record<string, string | undefined>; printDatabase: (name: string) => void },
): Promise<Report> {
  const database = await openAdminDatabase(config, { read_only_too: command.records === null })
  printDatabase(database.name)
  let clock: DatabaseClock | null = null
  try {
    clock = await followDatabaseClock({ ask: askForTime(database.pool) })
    return await command.run({ ...database, config, clock, actor: operatorHere() }, values)
  } finally {
    clock?.close()
    await database.close()
  }
}

/** The command is one word or two, and its words come first. */
function splitCommand(args: string[]): [string, string[]] {
  const two = args.slice(0, 2).join(' ')
  return COMMANDS.has(two) ? [two, args.slice(2)] : [args[0] ?? '', args.slice(1)]
}

function aligned({ rows }: Report): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => (row.length > 1 ? row[i]!.length : 0))))
  const line = (row: readonly string[]) => row.map((text, i) => (i < row.length - 1 ? text.padEnd(widths[i]!) : text))
  return rows.map((row) => `${line(row).join('  ')}\n`).join('')
}

function overview(): string {
  const width = Math.max(...[...COMMANDS.keys()].map((name) => name.length))
  const lines = [...COMMANDS].map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}\n`)
  return `kinora admin <command> [flags]\n\n${lines.join('')}\nEvery command takes --json, --data-dir, --config and --help.\n`
}

function usage(name: string, command: Command): string {
  return `kinora admin ${name}: ${command.summary}\n\n${describeFlags({ ...command.flags, ...SHARED })}\n`
}

/** What the file system answers for a path that this user may not use, or that nobody can. */
const REFUSED: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR'])

/** One line that names the remedy; the stack of an unexpected error. */
function explain(error: unknown): string {
  if (error instanceof CommandError || error instanceof ApiError) return error.message
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'StartError') return error.message
  if (error instanceof BlobsAway)
    return `The bucket cannot be used (${error.message}). Check 'storage' and its server, and run the command again.`
  const { code = '' } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC') return `${asSentence(error.message)} Make room, and run the command again.`
  if (REFUSED.has(code) && 'path' in error)
    return `${asSentence(error.message)} Run it as a user who may, or name another path.`
  return error.stack ?? error.message
}
