import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { loadConfig } from '../../config/load.ts'
import { buildEngines, engineMistakes } from '../../engines/registry.ts'
import {
  describeFlags,
  type Flags,
  type GivenFlags,
  parseFlags,
  rejectArguments,
  UsageError,
  wordsBeforeFlags,
} from '../flags.ts'
import { EXIT_INTERRUPTED, onInterrupt } from '../interrupt.ts'
import { allHold, type EngineFindings, engineReportJson, headingOf, tableOf } from './report.ts'
import { type Subject, subjectsOf } from './subjects.ts'

const FLAGS = {
  free: { help: 'Only what starts nothing at an engine' },
  inputs: { help: 'Also one render for each kind of input; each is canceled where the engine can' },
  json: { help: 'Print the result as one JSON object' },
  config: { value: '<path>', help: 'kinora.yaml; KINORA_CONFIG' },
  help: { help: 'Show this' },
} as const satisfies Flags

const USAGE = `kinora engines check [<model> | moderation | transcription | translation] [flags]

Asks the engines of your configuration what they promise, as the tests of Kinora ask every adapter, and prints what holds.
Without a name, all of them. No service and no database is needed. A video engine is asked for up to four of its shortest renders, a chat
engine for about twenty short answers: where somebody is paid for them, you pay.

${describeFlags(FLAGS)}

Exit code: 0 when everything holds that must, 1 when something does not, 2 for wrong usage, 130 when interrupted.
`

/** `kinora engines check`. Returns the exit code. */
export async function runEngines(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const { given, positionals } = parseFlags(args, FLAGS)
    if (given.help) {
      process.stdout.write(USAGE)
      return 0
    }
    const [command, name, ...more] = positionals
    if (command === undefined) throw new UsageError('say check')
    if (command !== 'check') throw new UsageError(['unknown command', ...wordsBeforeFlags(args).slice(0, 1)].join(' '))
    rejectArguments(args, more)
    return await check(loadConfig({ config: given.config }, env, engineMistakes), name, given)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`kinora engines: ${error.message}\n\n${USAGE}`)
    return 2
  }
}

async function check(config: Config, name: string | undefined, given: GivenFlags<typeof FLAGS>): Promise<number> {
  const work_dir = await mkdtemp(join(tmpdir(), 'kinora-engines-'))
  const { upstream_idle_seconds: idle_seconds, upstream_total_seconds: total_seconds } = config.limits
  const upstream = { idle_seconds, total_seconds }
  const engines = buildEngines(config, { work_dir, config_dir: config.config_dir, upstream })
  const interrupt = onInterrupt()
  try {
    const results = await checkAll(named(subjectsOf(config, engines), name), given, interrupt.signal)
    process.stdout.write(given.json ? `${JSON.stringify(engineReportJson(results))}\n` : tableOf(results))
    return allHold(results) ? 0 : 1
  } catch (error) {
    if (!interrupt.signal.aborted) throw error
    return EXIT_INTERRUPTED
  } finally {
    interrupt.release()
    await engines.close()
    await rm(work_dir, { recursive: true, force: true })
  }
}

/** The engines of one model, or the one of a family. */
function named(subjects: Subject[], name: string | undefined): Subject[] {
  if (name === undefined) return subjects
  const found = subjects.filter(({ family, model }) => (model ?? family) === name)
  if (found.length > 0) return found
  const known = [...new Set(subjects.map(({ family, model }) => model ?? family))]
  throw new UsageError(`there is no ${name}; there are ${known.join(', ')}`)
}

async function checkAll(
  subjects: readonly Subject[],
  { free, inputs }: GivenFlags<typeof FLAGS>,
  signal: AbortSignal,
): Promise<EngineFindings[]> {
  const results: EngineFindings[] = []
  for (const subject of subjects) {
    const checks = subject.checks.filter(
      ({ starts }) => (!free || starts === 'nothing') && (inputs || starts !== 'a render for each kind of input'),
    )
    const findings: EngineFindings['findings'] = []
    for (const [i, each] of checks.entries()) {
      const progress = `${headingOf(subject)}, ${i + 1} of ${checks.length}: ${each.title}`
      process.stderr.write(
        process.stderr.isTTY ? `\r\x1b[2K${progress.slice(0, (process.stderr.columns ?? 80) - 1)}` : `${progress}\n`,
      )
      findings.push(await each.run(signal))
    }
    results.push({ subject, findings })
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[2K')
  return results
}
