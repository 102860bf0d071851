import { CAUSES, type CheckFailure, expect, failureOf, StepFailure, StepSkipped } from './failure.ts'
import { checkFile } from './files.ts'
import type { Quote, Wishes } from './quote.ts'
import { affordable, quote } from './quote.ts'
import { checkSocket } from './socket.ts'
import type { Target } from './target.ts'
import { checkChat, checkResponse, checkStream } from './text.ts'
import { checkTerms, checkVideo } from './video.ts'
import { checkWebhook, type Receiver } from './webhook.ts'

/** What became of a step. `detail` says what was done, or why not; `failure` is that of a failed one. */
export type StepResult = {
  step: string
  outcome: 'ok' | 'failed' | 'skipped'
  seconds: number
  detail: string
  failure: CheckFailure | null
}

export type Options = Wishes & { key: string; max_cost: bigint; file_bytes: number; receiver: Receiver | null }

/** `needs`: steps without which it cannot be tried. */
type Step = { name: string; needs: readonly string[]; run(): Promise<string> }

/** Runs every step, reports each as it ends, and removes what it has created. Throws what Ctrl-C has ended. */
export async function runSteps(
  target: Target,
  options: Options,
  report: (result: StepResult) => void,
): Promise<{ results: StepResult[]; not_removed: string[] }> {
  const results: StepResult[] = []
  let not_removed: string[] = []
  for (const step of stepsOf(target, options)) {
    const missing = step.needs.find((name) => results.some(({ step, outcome }) => step === name && outcome !== 'ok'))
    let result: StepResult
    try {
      result = missing === undefined ? await resultOf(step, target) : skipped(step, `needs ${missing}`)
    } finally {
      not_removed = await target.removeRest()
    }
    results.push(result)
    report(result)
  }
  return { results, not_removed }
}

async function resultOf({ name, run }: Step, { signal }: Target): Promise<StepResult> {
  const started = performance.now()
  const seconds = () => (performance.now() - started) / 1000
  try {
    const detail = await run()
    return { step: name, outcome: 'ok', seconds: seconds(), detail, failure: null }
  } catch (error) {
    if (signal.aborted) throw error
    if (error instanceof StepSkipped) return skipped({ name }, error.message)
    const failure = error instanceof StepFailure ? error.failure : failureOf(name, error)
    return { step: name, outcome: 'failed', seconds: seconds(), detail: '', failure }
  }
}

function skipped({ name }: Pick<Step, 'name'>, detail: string): StepResult {
  return { step: name, outcome: 'skipped', seconds: 0, detail, failure: null }
}

function stepsOf(target: Target, options: Options): Step[] {
  const { key, max_cost, file_bytes, receiver } = options
  let quoted: Quote = { video: null, chat: null, currency: '' }
  const video = () => quoted.video ?? skip('the plan has no video model')
  const chat = () => (quoted.chat ?? skip('the plan has no chat model')).model
  const billed = ['health', 'models', 'cost']
  return [
    { name: 'health', needs: [], run: () => checkHealth(target) },
    { name: 'ready', needs: ['health'], run: () => checkReady(target) },
    {
      name: 'models',
      needs: ['health'],
      async run() {
        quoted = await quote(target, options)
        expect(quoted.video !== null || quoted.chat !== null, {
          sent: 'GET /v1/models and /v1/videos/models',
          received: 'no model',
          cause: 'The plan of the organization has no model: plans in kinora.yaml.',
        })
        return `video ${quoted.video?.model ?? 'none'}, chat ${quoted.chat?.model ?? 'none'}`
      },
    },
    { name: 'file', needs: ['health', 'models'], run: () => checkFile(target, file_bytes) },
    { name: 'cost', needs: ['health', 'models'], run: async () => affordable(quoted, max_cost) },
    {
      name: 'terms',
      needs: ['health', 'models'],
      async run() {
        video()
        return checkTerms(target)
      },
    },
    { name: 'video', needs: [...billed, 'terms'], run: async () => checkVideo(target, video()) },
    { name: 'chat', needs: billed, run: async () => checkChat(target, chat()) },
    { name: 'stream', needs: billed, run: async () => checkStream(target, chat()) },
    { name: 'response', needs: billed, run: async () => checkResponse(target, chat()) },
    { name: 'websocket', needs: billed, run: async () => checkSocket(target, key, chat()) },
    {
      name: 'webhook',
      needs: billed,
      run: async () => checkWebhook(target, receiver ?? skip('--webhook-url and --listen are not given'), chat()),
    },
  ]
}

function skip(why: string): never {
  throw new StepSkipped(why)
}

type Health = { status: string; database: string; storage: string; audit?: { ok: boolean; checked_at: number | null } }

async function checkHealth({ ask }: Target): Promise<string> {
  const { status, database, storage } = await ask<Health>('GET', '/healthz')
  const received = `status ${status}, database ${database}, storage ${storage}`
  expect(status === 'ok' && database !== undefined, { sent: 'GET /healthz', received, cause: CAUSES.foreign })
  return received
}

async function checkReady({ ask }: Target): Promise<string> {
  const { status, storage, audit } = await ask<Health>('GET', '/readyz')
  const isSound = audit?.ok !== false || audit.checked_at === null
  expect(isSound, {
    sent: 'GET /readyz',
    received: 'audit: ok false',
    cause: 'The sums of the accounts do not agree, and new video jobs are rejected: `kinora admin audit`.',
  })
  return `status ${status}, storage ${storage}`
}
