import { parseMoney } from '../../platform/money.ts'
import { baseUrl, openApiClient } from '../api-client.ts'
import { describeFlags, type Flags, type GivenFlags, parseFlags, rejectArguments, UsageError } from '../flags.ts'
import { EXIT_INTERRUPTED, onInterrupt } from '../interrupt.ts'
import { checkReportJson, headOf, linesOf, sumOf } from './report.ts'
import { type Options, runSteps } from './steps.ts'
import { openTarget } from './target.ts'
import type { Receiver } from './webhook.ts'

const FLAGS = {
  url: { value: '<url>', help: 'The service as clients reach it; KINORA_BASE_URL by default' },
  'max-cost': { value: '<amount>', help: 'What all of it may cost, in the currency of the prices; 1.00 by default' },
  model: { value: '<id>', help: 'The video model; the cheapest of your plan by default' },
  'chat-model': { value: '<id>', help: 'The chat model; the cheapest of your plan by default' },
  'file-megabytes': { value: '<1-100>', help: 'Size of the file that is uploaded; 12 by default' },
  'webhook-url': { value: '<url>', help: 'Where the service sends an event; it must lead to --listen' },
  listen: { value: '[<host>:]<port>', help: 'Where this command receives the event; host 127.0.0.1 by default' },
  json: { help: 'Print the result as one JSON object' },
  help: { help: 'Show this' },
} as const satisfies Flags

const USAGE = `kinora check --url https://… [flags]

Tries a running service from outside, as its clients do, with the key in KINORA_API_KEY: files, a short video, chat, streams, responses,
WebSocket and, where asked, a webhook. It says beforehand what that costs at most, and deletes all that it creates. For the video,
the owner of the key must have accepted the video terms in the console: a key cannot.

${describeFlags(FLAGS)}

Exit code: 0 when nothing failed, 1 when something did, 2 for wrong usage, 130 when interrupted.
`

/** `kinora check`. Returns the exit code. */
export async function runServiceCheck(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const { given, positionals } = parseFlags(args, FLAGS)
    if (given.help) {
      process.stdout.write(USAGE)
      return 0
    }
    rejectArguments(args, positionals)
    return await check(requireUrl(given.url ?? baseUrl(env)), optionsOf(given, env), given.json)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`kinora check: ${error.message}\n\n${USAGE}`)
    return 2
  }
}

async function check(url: string, options: Options, json: boolean): Promise<number> {
  const interrupt = onInterrupt()
  const api = openApiClient(url, { authorization: `Bearer ${options.key}` })
  const target = openTarget(api, interrupt.signal)
  try {
    if (!json) process.stdout.write(headOf(api.base_url))
    const { results, not_removed } = await runSteps(target, options, (result) => {
      if (!json) process.stdout.write(linesOf(result))
    })
    process.stdout.write(
      json ? `${JSON.stringify(checkReportJson(api.base_url, results, not_removed))}\n` : sumOf(results, not_removed),
    )
    return results.some(({ outcome }) => outcome === 'failed') || not_removed.length > 0 ? 1 : 0
  } catch (error) {
    if (!interrupt.signal.aborted) throw error
    const rest = await target.removeRest()
    process.stderr.write(
      `\nkinora check: interrupted. ${rest.length > 0 ? `Not removed: ${rest.join(', ')}` : 'What it had created is removed.'}\n`,
    )
    return EXIT_INTERRUPTED
  } finally {
    interrupt.release()
  }
}

function optionsOf(given: GivenFlags<typeof FLAGS>, env: NodeJS.ProcessEnv): Options {
  const { KINORA_API_KEY: key } = env
  if (!key) throw new UsageError('KINORA_API_KEY is not set: it holds the API key of the service')
  const max_cost = parseMoney(given['max-cost'] ?? '1.00')
  if (max_cost === null || max_cost < 0n) throw new UsageError('--max-cost is not an amount such as 1.00')
  const megabytes = Number(given['file-megabytes'] ?? '12')
  if (!Number.isInteger(megabytes) || megabytes < 1 || megabytes > 100)
    throw new UsageError('--file-megabytes is not a whole number from 1 to 100')
  const receiver = receiverOf(given['webhook-url'], given.listen)
  return {
    key,
    max_cost,
    file_bytes: megabytes * 1_000_000,
    receiver,
    webhook: receiver !== null,
    model: given.model,
    chat_model: given['chat-model'],
  }
}

function requireUrl(text: string): string {
  const url = URL.parse(text)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new UsageError('--url is not a URL such as https://kinora.example.com')
  return text
}

function receiverOf(url: string | undefined, listen: string | undefined): Receiver | null {
  if (url === undefined && listen === undefined) return null
  if (url === undefined || listen === undefined) throw new UsageError('--webhook-url and --listen belong together')
  const [, host = '127.0.0.1', port] = /^(?:(.+):)?(\d{1,5})$/.exec(listen) ?? []
  if (port === undefined) throw new UsageError('--listen is not a port, or a host and a port such as 0.0.0.0:8099')
  return { url, host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
}
