import { statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { CreateVideo, VideoView } from '../videos/schema.ts'
import { ApiCallError, type ApiClient, baseUrl, openApiClient, retryTransient } from './api-client.ts'
import { describeFlags, type Flags, type GivenFlags, parseFlags, UsageError } from './flags.ts'
import { EXIT_INTERRUPTED, onInterrupt } from './interrupt.ts'
import { openProgress } from './progress.ts'
import { formatBytes } from './units.ts'
import { cancelJobOf, firstModel, followJob, submitJob, uploadReferences } from './video-run.ts'

const FLAGS = {
  seconds: { value: '<4-15>', help: 'Length of the clip; 5 by default' },
  'aspect-ratio': { value: '<ratio>', help: '16:9 by default; Auto, 21:9, 4:3, 1:1, 3:4, 9:16' },
  'first-frame': { value: '<picture>', help: 'The clip begins with it' },
  'last-frame': { value: '<picture>', help: 'The clip ends with it' },
  image: { value: '<picture>', help: 'A reference; up to 8 times, not with frames', multiple: true },
  video: { value: '<clip>', help: 'A reference; up to 2 times', multiple: true },
  audio: { value: '<sound>', help: 'A reference; up to 3 times, beside a picture or clip', multiple: true },
  model: { value: '<id>', help: 'The first of your models by default' },
  out: { value: '<path>', help: 'Where the MP4 goes; <job id>.mp4 here by default' },
  json: { help: 'Print the result as one JSON object' },
  help: { help: 'Show this' },
} as const satisfies Flags

const USAGE = `kinora render "<prompt>" [flags]

Submits a video job to the service at KINORA_BASE_URL (http://127.0.0.1:8080 by default) with the key in KINORA_API_KEY,
waits for it and downloads the clip. Ctrl-C cancels the job. Dialogue goes in <d>...</d>.

${describeFlags(FLAGS)}
`

/** `kinora render`. Returns the exit code: 0 downloaded, 1 refused or failed, 2 wrong usage, 130 canceled by Ctrl-C. */
export async function runRender(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    if (args.includes('--help') || args.includes('-h')) {
      process.stdout.write(USAGE)
      return 0
    }
    const { given, positionals } = parseFlags(args, FLAGS)
    return await render(given, requirePrompt(positionals), env)
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`kinora render: ${error.message}\n\n${USAGE}`)
      return 2
    }
    if (!(error instanceof ApiCallError)) throw error
    process.stderr.write(`kinora render: ${error.message}\n${remedyOf(error, env)}`)
    return 1
  }
}

async function render(given: GivenFlags<typeof FLAGS>, prompt: string, env: NodeJS.ProcessEnv): Promise<number> {
  const { KINORA_API_KEY: key } = env
  if (!key) throw new UsageError('KINORA_API_KEY is not set: it holds the API key of the service')
  const target = requireTarget(given.out)
  requireFiles(given)
  const api = openApiClient(baseUrl(env), { authorization: `Bearer ${key}` })
  const interrupt = onInterrupt()
  let job: VideoView | null = null
  try {
    job = await submitJob(api, await createBody(api, given, prompt, interrupt.signal), interrupt.signal)
    process.stderr.write(`${job.id}  ${job.model}, ${job.seconds} s, ${job.cost} ${job.currency}\n`)
    const ended = await followJob(api, job, openProgress(process.stderr), interrupt.signal)
    return await finish(api, ended, { path: target(ended.id), json: given.json, signal: interrupt.signal })
  } catch (error) {
    if (!interrupt.signal.aborted) throw error
    return job ? await cancelAfterInterrupt(api, job.id) : EXIT_INTERRUPTED
  } finally {
    interrupt.release()
  }
}

async function createBody(
  api: ApiClient,
  given: GivenFlags<typeof FLAGS>,
  prompt: string,
  signal: AbortSignal,
): Promise<CreateVideo> {
  const seconds = Number(given.seconds ?? '5')
  if (!Number.isInteger(seconds)) throw new UsageError('--seconds is not a whole number')
  const model = given.model ?? (await retryTransient(0, signal, () => firstModel(api, signal)))
  const references = { images: given.image, videos: given.video, audio: given.audio }
  const frames = { first_frame: given['first-frame'], last_frame: given['last-frame'] }
  const on_upload = (path: string, id: string) => process.stderr.write(`${id}  ${path}\n`)
  const uploaded = await uploadReferences(api, { ...frames, ...references }, { signal, on_upload })
  return {
    model,
    prompt,
    seconds,
    aspect_ratio: (given['aspect-ratio'] ?? '16:9') as CreateVideo['aspect_ratio'],
    ...uploaded,
  }
}

async function finish(
  api: ApiClient,
  job: VideoView,
  to: { path: string; json: boolean; signal: AbortSignal },
): Promise<number> {
  const { path, json, signal } = to
  const { id, model, seconds, status, cost, currency } = job
  const facts = { id, status, model, seconds }
  if (status !== 'completed') {
    const message = job.error ? `${job.error.code}: ${job.error.message}` : `The job is ${status}. Nothing was billed.`
    if (json) process.stdout.write(`${JSON.stringify({ ...facts, cost: '0.00000000', currency, error: job.error })}\n`)
    process.stderr.write(`kinora render: ${message}\n`)
    return 1
  }
  const size_bytes = await retryTransient(DOWNLOAD_RETRY_SECONDS, signal, () =>
    api.download(`/v1/videos/${id}/content`, path, signal),
  )
  if (json) process.stdout.write(`${JSON.stringify({ ...facts, cost, currency, path, size_bytes })}\n`)
  else process.stdout.write(`${path}\n${formatBytes(size_bytes)}, ${cost} ${currency}\n`)
  return 0
}

/** How long an interrupted download is retried. */
const DOWNLOAD_RETRY_SECONDS = 60

async function cancelAfterInterrupt(api: ApiClient, id: string): Promise<number> {
  process.stderr.write(`\nkinora render: canceling ${id} …\n`)
  const { status } = await cancelJobOf(api, id)
  const paid =
    status === 'completed'
      ? 'it had completed and stays; it was billed'
      : status === 'in_progress'
        ? 'the engine cannot stop it; it is billed when it completes'
        : 'nothing was billed'
  process.stderr.write(`kinora render: ${id} is ${status}; ${paid}\n`)
  return EXIT_INTERRUPTED
}

function requirePrompt([prompt, ...others]: string[]): string {
  if (prompt === undefined || prompt.trim() === '') throw new UsageError('the prompt is missing')
  if (others.length > 0) throw new UsageError('more than one prompt; put it in quotation marks')
  return prompt
}

/** Checked before the job is paid for. */
function requireTarget(out: string | undefined): (id: string) => string {
  const path = resolve(out ?? '.')
  if (isDirectory(path)) return (id) => join(path, `${id}.mp4`)
  if (!isDirectory(dirname(path))) throw new UsageError(`--out: there is no directory ${dirname(path)}`)
  return () => path
}

function requireFiles(given: GivenFlags<typeof FLAGS>): void {
  for (const name of ['first-frame', 'last-frame', 'image', 'video', 'audio'] as const) {
    for (const path of [given[name] ?? []].flat()) {
      if (!statSync(path, { throwIfNoEntry: false })?.isFile())
        throw new UsageError(`--${name}: there is no file ${path}`)
    }
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** What to do about an error whose message cannot name the remedy. */
function remedyOf({ code }: ApiCallError, env: NodeJS.ProcessEnv): string {
  const site = baseUrl(env).replace(/\/+$/, '').replace(/\/v1$/, '')
  if (code === 'agreement_required')
    return `Sign in to the console at ${site}/ as the owner of this key, agree to the video terms, then run this again.\n`
  if (code === 'invalid_api_key' || code === 'missing_api_key')
    return `Make a key in the console at ${site}/ and put it in KINORA_API_KEY.\n`
  return ''
}
