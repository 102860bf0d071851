import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Engines } from '../../server/engines/registry.ts'
import { wavHeader } from '../../server/media/wav.ts'
import { ANY_AGE } from '../../server/platform/blobs/blobs.ts'
import type { Log } from '../../server/platform/log.ts'
import { isTerminal } from '../../server/videos/job.ts'
import { findRunningJobOfAnyOrg, type Job } from '../../server/videos/pipeline/store.ts'
import { newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { type EngineServer, startEngineServer } from '../support/upstream/engine-server/server.ts'

/** The whole service with outside engines on one real socket, a customer with 100.00, and time moved by hand. */
export type PipelineApp = {
  app: TestApp
  engines: EngineServer
  customer: TestPerson
  /** Submits a job and returns its id. */
  submit(changes?: Record<string, unknown>): Promise<string>
  /** The job with its last start; null once it is gone. */
  find(id: string): Promise<Job | null>
  row(id: string): Promise<Job>
  /** Lets the job run, moving the clock to each due time, until it has ended or `until` holds. */
  drive(id: string, until?: (job: Job) => boolean): Promise<Job>
  /** Statuses the job went through, in order, as the database saw them. */
  statuses(id: string): Promise<string[]>
  balance(): Promise<{ balance: bigint; held: bigint; running: number; charges: number }>
  /** Blobs, and what is staged. */
  stored(): Promise<number>
  /** Another process on the same database and blobs, which has just started. Close it before the service. */
  beside(): Promise<TestApp>
  close(): Promise<void>
}

export const MODEL = 'outside-1'
/** What the customer has at first: 100.00. */
export const OPENING = 10_000_000_000n
/** What a job of four seconds costs. */
export const COST = 4_000_000n

/** Sections of kinora.yaml by name; `{engines}` stands for the address of the engine server. */
export type Sections = {
  model?: string
  /** Further members of the model, such as `prompt_max: 4000`. */
  model_more?: string
  /** Several engines of the model, instead of `model`. */
  several?: string
  moderation?: string
  /** Further members of `moderation`. */
  moderation_more?: string
  translation?: string
  limits?: string
  more?: string
}

const OUTSIDE = '{ kind: videos-api, dialect: openai, base_url: "{engines}", model: wan }'

export async function startPipelineApp(
  sections: Sections = {},
  options: { engines?: Engines; log?: Log; background?: boolean } = {},
): Promise<PipelineApp> {
  const server = await startEngineServer()
  const config = configText(sections).replaceAll('{engines}', server.url)
  const app = await startApp({ config, ...options })
  await app.database.pool.query(OBSERVE)
  server.setClock(() => app.clock.now().getTime())
  const customer = await newCustomer(app)
  const find = (id: string) => findRunningJobOfAnyOrg(app.ctx.db, id)
  const row = async (id: string) => (await find(id))!
  return {
    app,
    engines: server,
    customer,
    find,
    row,
    async submit(changes = {}) {
      const answer = await send(app, 'POST', '/v1/videos', customer, videoBody({ model: MODEL, ...changes }))
      if (answer.status !== 200) throw new Error(`refused: ${JSON.stringify(answer.body)}`)
      return answer.body.id as string
    },
    async drive(id, until = () => false) {
      for (let steps = 0; steps < STEPS_MAX; steps++) {
        await app.tick()
        const job = await row(id)
        if (isTerminal(job.status) || until(job)) return job
        app.clock.set(job.next_run_at)
      }
      throw new Error(`the job has not come to an end: ${JSON.stringify((await row(id)).status)}`)
    },
    async statuses(id) {
      const { rows } = await app.database.pool.query('select status from observed where job_id = $1 order by n', [id])
      return rows.map(({ status }) => status)
    },
    async balance() {
      const { rows } = await app.database.pool.query(
        `select balance, held, running,
           (select count(*)::int from ledger_entries e where e.org_id = a.org_id and kind = 'charge') as charges
         from accounts a where org_id = $1`,
        [customer.org_id],
      )
      return rows[0]
    },
    async beside() {
      const { database, dir, secret } = app
      const other = await startApp({ config, ...options, background: false, beside: { database, dir, secret } })
      other.ctx.clock = app.clock
      return other
    },
    async stored() {
      let count = filesBelow(join(app.dir, 'blobs', 'staging'))
      for await (const _ of app.ctx.blobs.list({ older_than: ANY_AGE })) count += 1
      return count
    },
    async close() {
      await app.close()
      await server.close()
    },
  }
}

function filesBelow(dir: string): number {
  return readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length
}

/** Uploads bytes as the customer and returns the id of the file. */
export async function upload(
  service: Pick<PipelineApp, 'app' | 'customer'>,
  bytes: Uint8Array,
  options: { purpose?: string; expires_after?: number } = {},
): Promise<string> {
  const { purpose = 'vision', expires_after } = options
  const form = new FormData()
  form.set('purpose', purpose)
  if (expires_after !== undefined) {
    form.set('expires_after[anchor]', 'created_at')
    form.set('expires_after[seconds]', String(expires_after))
  }
  form.set('file', new Blob([new Uint8Array(bytes)]), `upload-${randomUUID()}`)
  const headers = { authorization: `Bearer ${service.customer.key}` }
  const response = await fetch(`${service.app.url}/v1/files`, { method: 'POST', headers, body: form })
  const body = (await response.json()) as { id: string }
  if (response.status !== 200) throw new Error(`upload refused: ${JSON.stringify(body)}`)
  return body.id
}

/** A WAV of silence that lasts `seconds`. */
export function silence(seconds: number): Uint8Array {
  const rate = 8000
  const size = Math.round(seconds * rate) * 2
  return Buffer.concat([wavHeader(size, { rate, channels: 1 }), Buffer.alloc(size)])
}

/** More than any job of a test needs. */
const STEPS_MAX = 2000

const OBSERVE = `
  create table observed (n bigserial, job_id text, status text);
  create function observe() returns trigger language plpgsql as $$
  begin insert into observed (job_id, status) values (new.id, new.status); return null; end $$;
  create trigger observe_insert after insert on video_jobs for each row execute function observe();
  create trigger observe_update after update of status on video_jobs for each row
    when (old.status is distinct from new.status) execute function observe();`

function configText({
  model = OUTSIDE,
  model_more,
  several,
  moderation = '{ kind: rules, deny: [forbidden] }',
  moderation_more,
  translation = 'none',
  limits,
  more,
}: Sections): string {
  return `
plans: { free: { max_concurrent_renders: 1000 } }
video_models:
  - { id: ${MODEL}, ${several ? `engines: ${several}` : `engine: ${model}`}, per_second: "0.010000", render_seconds: 600${model_more ? `, ${model_more}` : ''} }
moderation: { engine: ${moderation}${moderation_more ? `, ${moderation_more}` : ''} }
translation: { engine: ${translation} }
limits: { queue_seconds: 600${limits ? `, ${limits}` : ''} }
${more ?? ''}`
}
