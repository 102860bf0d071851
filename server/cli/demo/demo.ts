import { accessSync, constants, createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Static } from 'typebox'
import type { BalanceView } from '../../billing/schema.ts'
import { loadConfig } from '../../config/load.ts'
import { engineMistakes } from '../../engines/registry.ts'
import type { FirstRun } from '../../identity/people/first-run.ts'
import { probeFile } from '../../media/probe/probe.ts'
import { openLog } from '../../platform/log.ts'
import type { AcceptanceView, VideoView } from '../../videos/schema.ts'
import { ApiCallError, type ApiClient, openApiClient } from '../api-client.ts'
import { describeFlags, type Flags, parseFlags, UsageError } from '../flags.ts'
import { EXIT_INTERRUPTED, onInterrupt } from '../interrupt.ts'
import { openProgress } from '../progress.ts'
import { type Serving, serve } from '../serve.ts'
import { formatBytes } from '../units.ts'
import { firstModel, followJob, submitJob, uploadReferences } from '../video-run.ts'
import { DEMO_PREFIX, removeKilledDemos } from './leftovers.ts'
import { demoPicture } from './picture.ts'

const FLAGS = {
  keep: { help: 'Leave the service running until Ctrl-C, and its data in place' },
  out: { value: '<path>', help: 'The MP4 file to write; ./kinora-demo.mp4 by default' },
  config: { value: '<path>', help: 'A kinora.yaml, to try other engines' },
  help: { help: 'Show this' },
} as const satisfies Flags

const USAGE = `kinora demo [flags]

From sign-in to MP4 through the public API, on a service of its own with fresh data and a free port.

${describeFlags(FLAGS)}
`

const PROMPT =
  'Dusk over a calm sea. The keeper of the lighthouse climbs the last steps and wipes the glass. ' +
  '<d>One more night, old friend.</d> The lamp wakes, and its beam crosses the water. A ship answers far away.'
const SECONDS = 5

/** `kinora demo`. Returns the exit code: 0 with the clip on disk, 1 when something failed, 2 for wrong usage. */
export async function runDemo(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const { given } = parseFlags(args, FLAGS)
    if (given.help) {
      process.stdout.write(USAGE)
      return 0
    }
    return await demo({ keep: given.keep, out: requireTarget(given.out), config: given.config }, env)
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`kinora demo: ${error.message}\n\n${USAGE}`)
      return 2
    }
    if (!(error instanceof ApiCallError)) throw error
    process.stderr.write(`kinora demo: ${error.message}\n`)
    return 1
  }
}

async function demo(options: { keep: boolean; out: string; config?: string }, env: NodeJS.ProcessEnv): Promise<number> {
  process.stdout.write('Kinora: from sign-in to MP4, on a service of its own.\n\n')
  await removeKilledDemos()
  const dir = mkdtempSync(join(tmpdir(), DEMO_PREFIX))
  const interrupt = onInterrupt()
  let serving: Serving | null = null
  try {
    serving = await startService(dir, options.config, env)
    const completed = await runDemoJob(serving, { dir, out: options.out, signal: interrupt.signal })
    if (options.keep && completed) await keepRunning(serving, dir, interrupt.signal)
    else
      process.stdout.write(
        '\nThe service of the demo stops now. Leave it running with --keep, or start your own: npx kinora serve\n',
      )
    return completed ? 0 : 1
  } catch (error) {
    if (!interrupt.signal.aborted) throw error
    process.stdout.write('\n  stopped by Ctrl-C\n')
    return EXIT_INTERRUPTED
  } finally {
    await serving?.stop()
    interrupt.release()
    if (!options.keep) rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

/** Settings of the environment belong to the reader's own service: the demo uses only variables that its file names. */
async function startService(dir: string, path: string | undefined, env: NodeJS.ProcessEnv): Promise<Serving> {
  const named = Object.fromEntries(Object.entries(env).filter(([name]) => !/^(KINORA_|DATABASE_URL$)/.test(name)))
  const config = loadConfig({ host: '127.0.0.1', port: '0', data_dir: dir, config: path }, named, engineMistakes)
  const log = openLog('info', createWriteStream(join(dir, 'service.log')))
  const serving = await serve(config, log)
  print('service', `${serving.url}, data in ${dir}`)
  return serving
}

/** Sign in, agree, upload, submit, wait, download. False when the job did not complete. */
async function runDemoJob(serving: Serving, at: { dir: string; out: string; signal: AbortSignal }): Promise<boolean> {
  const { dir, out, signal } = at
  const owner = serving.first_run!
  const browser = await signIn(serving.url, owner)
  await agree(browser)
  const api = openApiClient(serving.url, { authorization: `Bearer ${owner.api_key}` })
  const picture = join(dir, 'lighthouse.png')
  await writeFile(picture, await demoPicture())
  const on_upload = (_: string, id: string) => print('picture', `lighthouse.png, ${id}`)
  const model = await firstModel(api, signal)
  const none = { images: [], videos: [], audio: [] }
  const frames = await uploadReferences(api, { first_frame: picture, ...none }, { signal, on_upload })
  const before = await balanceOf(browser)
  const body = { model, prompt: PROMPT, seconds: SECONDS, aspect_ratio: '16:9', ...frames } as const
  const job = await submitJob(api, body, signal)
  print('job', `${job.id}, ${model}, ${SECONDS} s`)
  print('prompt', PROMPT)
  const ended = await followJob(api, job, openProgress(process.stdout), signal)
  if (ended.status !== 'completed') {
    process.stderr.write(`kinora demo: the job is ${ended.status}. ${ended.error?.message ?? ''}\n`)
    return false
  }
  await showClip(api, ended, out, signal)
  const after = await balanceOf(browser)
  print('cost', `${ended.cost} ${ended.currency}`)
  print('balance', `${before} before, ${after} after`)
  print('console', `${serving.url}/`)
  return true
}

async function signIn(url: string, { email, password }: FirstRun): Promise<ApiClient> {
  const { headers } = await openApiClient(url, {}).call('POST', '/console/auth/sign-in/email', {
    body: { email, password },
  })
  const cookie = headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ')
  print('signed in', email)
  return openApiClient(url, { cookie })
}

async function agree(browser: ApiClient): Promise<void> {
  const { body: terms } = await browser.call<Static<typeof AcceptanceView>>('GET', '/v1/videos/acceptance')
  await browser.call('POST', '/v1/videos/acceptance', { body: { terms_version: terms.terms_version } })
  print('agreed to', `video terms ${terms.terms_version}`)
}

async function balanceOf(browser: ApiClient): Promise<string> {
  return (await browser.call<Static<typeof BalanceView>>('GET', '/console/balance')).body.balance
}

async function showClip(api: ApiClient, job: VideoView, out: string, signal: AbortSignal): Promise<void> {
  const size_bytes = await api.download(`/v1/videos/${job.id}/content`, out, signal)
  const { width, height, duration_seconds, video_codec, audio_codec } = await probeFile(out, 'video')
  const video = video_codec === 'avc' ? 'h264' : video_codec
  print('video', out)
  print('size', formatBytes(size_bytes))
  print('media', `${width}x${height} ${video}+${audio_codec}, ${duration_seconds?.toFixed(1)} s`)
}

async function keepRunning(serving: Serving, dir: string, signal: AbortSignal): Promise<void> {
  const { email, password, api_key } = serving.first_run!
  process.stdout.write('\nThe service runs until Ctrl-C; its data is kept.\n')
  print('email', email)
  print('password', password)
  print('api key', api_key)
  print('data', dir)
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}

function print(label: string, value: string): void {
  process.stdout.write(`  ${label.padEnd(10)} ${value}\n`)
}

/** Checked before anything is rendered. Throws UsageError. */
function requireTarget(out: string | undefined): string {
  const path = resolve(out ?? writableHere())
  const facts = statSync(path, { throwIfNoEntry: false })
  if (facts?.isDirectory())
    throw new UsageError(`--out ${out ?? path} is a directory. Name the file: ${join(path, 'kinora-demo.mp4')}`)
  if (!facts && !statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--out: there is no directory ${dirname(path)}`)
  return path
}

/** In the working directory when it is writable, else in the temporary directory. */
function writableHere(): string {
  try {
    accessSync('.', constants.W_OK)
    return 'kinora-demo.mp4'
  } catch {
    return join(tmpdir(), `kinora-demo-${process.pid}.mp4`)
  }
}
