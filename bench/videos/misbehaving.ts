import { modelsOf, OUTSIDE } from '../../test/crash/outside-engines.ts'
import { newCustomer, startApp, type TestApp, videoBody } from '../../test/support/http/app.ts'
import { send } from '../../test/support/http/send.ts'
import type { ReceivedRequest, Reply } from '../../test/support/upstream/engine-server/exchange.ts'
import type { Fault } from '../../test/support/upstream/engine-server/faults.ts'
import * as does from '../../test/support/upstream/engine-server/misbehavior.ts'
import { type EngineServer, startEngineServer } from '../../test/support/upstream/engine-server/server.ts'
import { QUICK } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'

const JOBS = QUICK ? 100 : 1000
const QUEUE_SECONDS = 600
const RENDER_SECONDS = 600
/** After both limits, and the hour for which a finished clip is fetched again. */
const LIMIT_SECONDS = QUEUE_SECONDS + RENDER_SECONDS + 3600 + 300
/** Of every hundred requests, so many meet with something. */
const SHARE = 35

/**
 * Jobs on every adapter against engines that misbehave at random: refusals inside 200, ids of every shape, codings, redirects, pages of proxies,
 * lost replies, forgotten renders, envelopes, unknown words, filters, shortened clips, clips that are elsewhere, late or never there. Counts
 * what a job may cost its operator and its owner, and whether each failure has its reason in the log. The clock is moved by hand.
 */
export async function run(): Promise<Row[]> {
  const seed = Number(process.env.SEED ?? 1)
  const engines = await startEngineServer()
  const reasons = new Map<string, Set<string>>()
  const app = await startApp({ config: configOn(engines), log: collecting(reasons) })
  engines.setClock(() => app.clock.now().getTime())
  engines.conduct({ polls: 2 })
  engines.script({ times: Number.MAX_SAFE_INTEGER, fault: chooser(seed) })
  try {
    const customer = await newCustomer(app, { balance: 10_000_000_000_000n })
    const models = Object.keys(modelsOf(OUTSIDE))
    for (let i = 0; i < JOBS; i++) {
      const body = videoBody({ model: models[i % models.length], prompt: `A boat, number ${i}.` })
      const { status } = await send(app, 'POST', '/v1/videos', customer, body)
      if (status !== 200) throw new Error(`refused with ${status}`)
    }
    await settle(app)
    return await judge(app, { engines, reasons })
  } finally {
    await app.close()
    await engines.close()
  }
}

function configOn({ url }: EngineServer): string {
  const models = Object.entries(modelsOf(OUTSIDE)).map(
    ([id, engine]) => `  - { id: ${id}, engine: ${engine.replaceAll('{engines}', url)}, per_second: "0.010000" }`,
  )
  return `
plans: { free: { max_concurrent_renders: 100000 } }
limits: { queue_seconds: ${QUEUE_SECONDS}, render_seconds: ${RENDER_SECONDS} }
video_models:
${models.join('\n')}
`
}

/** A log that keeps, for each job, the events of warnings and errors that name it. */
function collecting(reasons: Map<string, Set<string>>) {
  const keep = (event: string, fields: { video_id?: string } = {}) => {
    if (fields.video_id === undefined) return
    reasons.set(fields.video_id, (reasons.get(fields.video_id) ?? new Set()).add(event))
  }
  return { debug() {}, info() {}, warn: keep, error: keep }
}

/** Moves the clock from one due time to the next until every job has ended, or every limit is over. */
async function settle(app: TestApp): Promise<void> {
  const end = app.clock.now().getTime() + LIMIT_SECONDS * 1000
  for (;;) {
    await app.tick()
    const next = await app.database.pool.query(
      'select min(next_run_at) as at from video_jobs where finished_at is null',
    )
    const { at } = next.rows[0] as { at: Date | null }
    if (at === null || app.clock.now().getTime() > end) return
    // Jobs due within the same second run together.
    app.clock.set(new Date(Math.max(at.getTime(), app.clock.now().getTime() + 1000)))
  }
}

type Judged = { engines: EngineServer; reasons: ReadonlyMap<string, ReadonlySet<string>> }

async function judge(app: TestApp, { reasons }: Judged): Promise<Row[]> {
  const { rows: jobs } = await app.database.pool.query(
    `select j.id, j.model, j.status, j.error_code, j.blob_key,
       (select count(*)::int from video_attempts a where a.job_id = j.id and a.state <> 'not_begun') as starts,
       (select count(*)::int from ledger_entries e where e.job_id = j.id and e.kind = 'charge') as charges
     from video_jobs j`,
  )
  const count = (which: (job: (typeof jobs)[number]) => boolean) => jobs.filter(which).length
  const isOpen = ({ status }: { status: string }) => !['completed', 'failed', 'canceled'].includes(status)
  const exact = (name: string, figure: number, limit: number) =>
    rowOf({ name, unit: 'jobs', better: 'exact', rounds: [figure], limit })
  const violations = Object.values(await app.audit()).reduce((sum, each) => sum + each, 0)
  return [
    exact('Jobs against engines that misbehave', jobs.length, JOBS),
    rowOf({
      name: 'Completed',
      unit: 'jobs',
      better: 'higher',
      rounds: [count(({ status }) => status === 'completed')],
    }),
    rowOf({ name: 'Failed', unit: 'jobs', rounds: [count(({ status }) => status === 'failed')] }),
    rowOf({ name: 'Started twice', unit: 'jobs', rounds: [count(({ starts }) => starts === 2)] }),
    exact(
      'With more than two paid starts',
      count(({ starts }) => starts > 2),
      0,
    ),
    exact('Open after every limit', count(isOpen), 0),
    exact(
      'Completed without a clip, or without one charge',
      count((job) => job.status === 'completed' && (job.blob_key === null || job.charges !== 1)),
      0,
    ),
    exact(
      'Charged, though not completed',
      count((job) => job.status !== 'completed' && job.charges > 0),
      0,
    ),
    exact(
      'Failed without a reason in the log',
      count(({ id, status }) => status === 'failed' && !reasons.has(id)),
      0,
    ),
    exact('Violations in the audit', violations, 0),
  ]
}

type Role = 'start' | 'poll' | 'clip'

/** Of every dialect, by its paths; null for requests that no misbehavior is for. */
function roleOf({ method, path }: ReceivedRequest): Role | null {
  if (/\/(content|download|view)(\?|$)|\.mp4|alt=media/.test(path)) return 'clip'
  if (method === 'POST') return /cancel|interrupt|\/queue|\/upload/.test(path) ? null : 'start'
  return method === 'GET' ? 'poll' : null
}

/** What a request meets with, drawn from the seed; what a render does for ever follows from its path. */
function chooser(seed: number): (request: ReceivedRequest) => Fault | null {
  let state = seed
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
  const lasting = new Map<string, Fault | null>()
  return (request) => {
    const role = roleOf(request)
    if (role === null) return null
    const place = `${role} ${request.path.split('?')[0]}`
    if (role !== 'start' && !lasting.has(place))
      lasting.set(place, random(100) < 8 ? pick(LASTING[role], random) : null)
    const forever = lasting.get(place) ?? null
    if (forever !== null) return forever
    return random(100) < SHARE ? pick(PASSING[role], random) : null
  }
}

function pick(faults: readonly Fault[], random: (below: number) => number): Fault {
  return faults[random(faults.length)]!
}

function lenientAll<Name extends string>(faults: Record<Name, readonly Fault[]>): Record<Name, readonly Fault[]> {
  const entries = Object.entries<readonly Fault[]>(faults).map(([name, list]) => [name, list.map(lenient)])
  return Object.fromEntries(entries) as Record<Name, readonly Fault[]>
}

/** A fault that changes JSON leaves anything else as it is. */
function lenient(fault: Fault): Fault {
  if (fault.kind !== 'answer') return fault
  return {
    kind: 'answer',
    answer(request, carryOut) {
      let reply: Reply | undefined
      const once = () => (reply ??= carryOut())
      try {
        return fault.answer(request, once)
      } catch {
        return once()
      }
    },
  }
}

const LOST_REPLY: Fault = { kind: 'lost_reply' }
const RESET: Fault = { kind: 'reset' }

const PASSING = lenientAll({
  start: [
    does.instead({ error: { code: 'content_policy_violation', message: 'blocked' } }),
    does.instead({ success: false, message: 'model busy, try again' }),
    does.instead({ code: 429, msg: 'busy' }),
    does.instead({ base_resp: { status_code: 1002, status_msg: 'rate limit' } }),
    does.instead({ error: { code: 'ServerOverloaded', message: 'overloaded' } }, 429),
    does.wrapped(),
    does.wrapped({ code: 0, msg: 'ok' }),
    does.coded('UTF-8'),
    does.coded('gzip'),
    does.redirected(307),
    does.redirected(308),
    does.page(502),
    does.page(503),
    LOST_REPLY,
    RESET,
    { kind: 'cut' },
  ],
  poll: [
    does.page(404),
    does.instead({ error: { code: 'not_found', message: 'no such task' } }, 404),
    does.instead({ code: 'task_not_exist', data: null }, 400),
    does.page(502),
    does.page(200),
    does.wrapped(),
    does.wrapped({ code: 0, status: 'success' }),
    does.withStatus('vae_decoding'),
    does.beside({ progress: '45%' }),
    does.coded('aws-chunked'),
    does.redirected(307),
    does.withStatus('expired'),
    does.withStatus('failed', { error: { code: 'server_error', message: 'x' } }),
    does.withStatus('failed', { error: { message: 'Output blocked by our content policy (NSFW)' } }),
    RESET,
    { kind: 'drip' },
  ],
  clip: [
    does.page(502),
    does.page(404),
    does.coded('aws-chunked'),
    does.withHeaders({ 'content-type': 'application/force-download' }),
    does.named((url) => ({ url })),
    does.redirected(302),
    { kind: 'cut' },
    { kind: 'wrong_length' },
    RESET,
  ],
})

const LASTING = lenientAll({
  poll: [
    does.withStatus('vae_decoding'),
    does.withStatus('expired'),
    does.withStatus('failed', { error: { code: 'server_error', message: 'x' } }),
    does.beside({ has_nsfw_concepts: [true] }),
    does.page(404),
    does.page(502),
  ],
  clip: [does.page(404), does.page(403), does.page(410), does.page(502), does.instead({ note: 'x' })],
})
