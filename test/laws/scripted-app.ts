import { readFileSync } from 'node:fs'
import { grantCredits } from '../../server/billing/ledger.ts'
import { EngineError } from '../../server/engines/engine-error.ts'
import type { Engines } from '../../server/engines/registry.ts'
import type { RenderState, VideoEngine } from '../../server/engines/video/contract.ts'
import { soleEngine } from '../../server/engines/video/pool.ts'
import { runJob } from '../../server/videos/pipeline/step.ts'
import { claimJob } from '../support/data/claims.ts'
import { startApp, type TestApp, videoBody } from '../support/http/app.ts'
import { newOrganization, newPerson, type Person } from '../support/http/people.ts'
import { type HttpResponse, send } from '../support/http/send.ts'

/** How renders end from now on, and the verdict of moderation. */
export type Script = { render: (typeof RENDERS)[number]; moderation: 'allow' | 'block' | 'down' }
export const RENDERS = [
  'succeed',
  'running',
  'fail',
  'filtered',
  'transient',
  'lost',
  'silent',
  'start_down',
  'start_refused',
  'bug',
] as const

/** What one job of four seconds costs at the first price. */
export const COST = 4_000_000n

export const SCRIPTED_CONFIG = (slots: number) => `
plans: { free: { max_concurrent_renders: ${slots} } }
video_models: [{ id: outside-1, engine: instant, per_second: "0.010000", render_seconds: 600 }]
limits: { queue_seconds: 600 }
`

export type ScriptedApp = TestApp & { script: Script }

/** The service with engines in this process that follow `script`, which tests change. */
export async function startScriptedApp(options: { slots: number }): Promise<ScriptedApp> {
  const script: Script = { render: 'succeed', moderation: 'allow' }
  const app = await startApp({ config: SCRIPTED_CONFIG(options.slots), engines: scriptedEngines(script) })
  return Object.assign(app, { script })
}

export function scriptedEngines(script: Script): Engines {
  return {
    video: new Map([
      ['outside-1', soleEngine({ engine: scriptedVideo(script), model: 'outside-1', name: 'scripted' })],
    ]),
    moderation: {
      sees_images: false,
      media: 'allow',
      async moderate() {
        if (script.moderation === 'down') throw new EngineError('transient', 'down')
        return { verdict: script.moderation, categories: [], engine: 'test', version: '1' }
      },
    },
    translation: { available: false, translate: () => Promise.reject(new EngineError('permanent', 'none')) },
    chat: new Map(),
    close: async () => {},
  }
}

const CLIP = new Uint8Array(readFileSync(new URL('../../server/engines/video/instant.mp4', import.meta.url)))

/** How often the engine may have begun a render for each job, refusals left out. */
export const starts = new Map<string, number>()

function scriptedVideo(script: Script): VideoEngine {
  return {
    capabilities: () => ({
      modes: new Set(['text']),
      references_max: { images: 0, videos: 0, audio: 0, files: 0 },
      seconds: [4, 15],
      aspect_ratios: new Set(['16:9']),
      auto_aspect_ratio: false,
      media: 'bytes',
      audio_out: true,
      cancel: 'any',
      idempotency: 'none',
    }),
    async start({ job_id, attempt_id }) {
      if (script.render !== 'start_refused') starts.set(job_id, (starts.get(job_id) ?? 0) + 1)
      if (script.render === 'start_down') throw new EngineError('transient', 'down')
      if (script.render === 'start_refused') throw new EngineError('permanent', 'refused')
      if (script.render === 'bug') throw new TypeError('a bug')
      return { attempt_id }
    },
    async poll(): Promise<RenderState> {
      switch (script.render) {
        case 'running':
          return { state: 'running', progress: 10 }
        case 'fail':
          return { state: 'failed', error: new EngineError('rejected', 'no') }
        case 'filtered':
          return { state: 'failed', error: new EngineError('moderation', 'no') }
        case 'transient':
          return { state: 'failed', error: new EngineError('transient', 'no') }
        case 'lost':
          return { state: 'lost' }
        case 'silent':
          throw new EngineError('transient', 'silent')
        default:
          return { state: 'succeeded', output: null }
      }
    },
    fetch: async () => ReadableStream.from([CLIP]),
    cancel: async () => true,
  }
}

/** A person of a new organization with `balance` units, who has agreed to the terms. */
export async function newPayer(app: TestApp, balance: bigint): Promise<Person> {
  const org_id = await newOrganization(app)
  const person = await newPerson(app, org_id)
  const { db } = app.database
  const now = app.clock.now()
  const terms_version = app.ctx.config.terms.version
  await db
    .insertInto('video_acceptances')
    .values({ org_id, user_id: person.user_id, terms_version, session_id: 'test', accepted_at: now })
    .execute()
  if (balance !== 0n) await grant(app, org_id, balance)
  return person
}

export async function grant(app: TestApp, org_id: string, amount: bigint): Promise<void> {
  const entry = { org_id, amount, note: 'test', user_id: null, now: app.clock.now() }
  await app.database.db.transaction().execute((tx) => grantCredits(tx, entry))
}

export function submit(
  app: { url: string },
  person: Person,
  options: { key?: string; seconds?: number } = {},
): Promise<HttpResponse> {
  const headers: Record<string, string> = options.key ? { 'idempotency-key': options.key } : {}
  return send(
    app,
    'POST',
    '/v1/videos',
    { key: person.key, headers },
    videoBody({ model: 'outside-1', seconds: options.seconds ?? 4 }),
  )
}

export const cancel = (app: { url: string }, person: Person, id: string) =>
  send(app, 'POST', `/v1/videos/${id}/cancel`, person)
export const remove = (app: { url: string }, person: Person, id: string) =>
  send(app, 'DELETE', `/v1/videos/${id}`, person)

/** Claims a job and runs it as a worker of the pipeline would; does nothing when another worker has it. */
export async function work(app: TestApp, id: string, worker: string): Promise<void> {
  const job = await claimJob(app.ctx.db, id, worker)
  if (job) await runJob(app.ctx, job, { signal: new AbortController().signal, faults: new Map() })
}

/** The account, its ledger and its jobs, read by one query. */
export async function books(app: TestApp, org_id: string) {
  const { rows } = await app.database.pool.query(
    `select a.balance, a.held, a.running,
       (select coalesce(sum(amount), 0) from ledger_entries e where e.org_id = a.org_id)::bigint as entries,
       (select count(*)::int from ledger_entries e where e.org_id = a.org_id and kind = 'charge') as charges,
       (select count(*)::int from video_jobs j where j.org_id = a.org_id) as jobs,
       (select count(*)::int from video_jobs j where j.org_id = a.org_id and status = 'completed') as completed
     from accounts a where org_id = $1`,
    [org_id],
  )
  return rows[0] as {
    balance: bigint
    held: bigint
    running: number
    entries: bigint
    charges: number
    jobs: number
    completed: number
  }
}
