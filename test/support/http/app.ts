import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AppOptions, openApp } from '../../../server/app.ts'
import { runAudit } from '../../../server/audit/audit.ts'
import { grantCredits } from '../../../server/billing/ledger.ts'
import { loadConfig } from '../../../server/config/load.ts'
import type { Context } from '../../../server/context.ts'
import { engineMistakes } from '../../../server/engines/registry.ts'
import { hashToken, SESSION_SECONDS, signedPair } from '../../../server/identity/caller/cookie.ts'
import type { Role } from '../../../server/identity/caller/principal.ts'
import { type Route, registerRoutes } from '../../../server/identity/caller/route.ts'
import { newRowId } from '../../../server/identity/row-ids.ts'
import { addSeconds, type Clock, handMovedClock } from '../../../server/platform/clock.ts'
import { silentLog } from '../../../server/platform/log.ts'
import { videoClaims } from '../../../server/videos/pipeline/claims.ts'
import { type Faults, runJob } from '../../../server/videos/pipeline/step.ts'
import { testBlobs } from '../bucket/storage.ts'
import { claimJob } from '../data/claims.ts'
import { type TestDatabase, testDatabase } from '../data/postgres.ts'
import { newOrganization, newPerson, type Person } from './people.ts'
import { send } from './send.ts'

export type TestApp = Awaited<ReturnType<typeof startApp>>
/** A person with an API key and a console login, who has agreed to the video terms by default. */
export type TestPerson = Person & { cookie: string }

/** Two plain models on the instant engine and roomy limits: what a test does not speak of is out of its way. */
export const INSTANT_CONFIG = `
plans:
  free: { max_concurrent_renders: 1000 }
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
`

/**
 * The service on a real socket and a database of its own, with a clock moved by hand. Jobs move only by `tick`, unless `background` starts the
 * real pipeline and sweeps; time goes by then, from where the clock was set. Close it.
 */
export async function startApp(
  options: Partial<Pick<AppOptions, 'budget' | 'clock' | 'database_url' | 'engines' | 'log' | 'node_id' | 'timing'>> & {
    /** Text of kinora.yaml. */
    config?: string
    background?: boolean
    /** A second process on the same database and blobs; a secret of its own where it is given. */
    beside?: { database: TestDatabase; dir: string; secret: string }
    /** Secrets that are accepted beside its own. */
    previous_secrets?: readonly string[]
    /** Routes beside those of the service. */
    endpoints?: readonly Route[]
    /** Keeps blobs on disk where the run keeps them in a bucket. */
    on_disk?: boolean
  } = {},
) {
  const { config = INSTANT_CONFIG, background = false, beside, previous_secrets = [], endpoints = [] } = options
  const database = beside?.database ?? (await testDatabase({ pool_max: 24 }))
  const dir = beside?.dir ?? mkdtempSync(join(tmpdir(), 'kinora-app-'))
  const secret = beside?.secret ?? randomBytes(32).toString('hex')
  const clock = background ? runningClock() : handMovedClock()
  mkdirSync(join(dir, 'work'), { recursive: true })
  const settings = readConfig(config, { dir, previous_secrets })
  const app = await openApp({
    clock,
    log: silentLog,
    database_url: database.url,
    ...options,
    config: settings,
    blobs: await testBlobs(dir, { on_disk: options.on_disk, proxied: settings.content_delivery === 'x-accel' }),
    secret,
    work_dir: join(dir, 'work'),
    background: background ? 'shared' : 'none',
  })
  if (endpoints.length > 0)
    app.http.register(async (routes) => registerRoutes(routes, app.ctx, endpoints, app.identity.authenticator))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  if (background) await app.startBackground()
  const { ctx } = app
  const faults: Faults = new Map()
  return {
    url,
    app,
    ctx,
    clock,
    database,
    dir,
    secret,
    tick: () => tick(ctx, faults),
    /** Violations of the audit, by invariant; empty when all is well. */
    async audit(): Promise<Record<string, number>> {
      const rows = await runAudit(database.db)
      return Object.fromEntries(
        rows.filter(({ violations }) => violations > 0).map(({ invariant, violations }) => [invariant, violations]),
      )
    },
    async close() {
      app.http.server.closeAllConnections()
      await app.close()
      if (beside) return
      await database.close()
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** An organization with `balance` units (default 100.00) and one person in it, signed in and agreed. */
export async function newCustomer(
  app: TestApp,
  options: { balance?: bigint; role?: Role; agreed?: boolean } = {},
): Promise<TestPerson> {
  const org_id = await newOrganization(app)
  const { balance = 10_000_000_000n } = options
  if (balance !== 0n) {
    const grant = { org_id, amount: balance, note: 'Test balance', user_id: null, now: app.clock.now() }
    await app.database.db.transaction().execute((tx) => grantCredits(tx, grant))
  }
  return newColleague(app, org_id, { role: 'owner', ...options })
}

/** One more person in an organization, signed in and agreed. */
export async function newColleague(
  app: TestApp,
  org_id: string,
  options: { role?: Role; agreed?: boolean } = {},
): Promise<TestPerson> {
  const person = await newPerson(app, org_id, options.role)
  const { cookie } = await startSession(app, person)
  if (options.agreed !== false) await agree(app, { cookie })
  return { ...person, cookie }
}

/** A console login, as after a sign-in, which would cost each customer a fifth of a second for hashing the password. */
async function startSession(app: TestApp, { user_id, org_id }: Person): Promise<{ cookie: string }> {
  const token = randomBytes(24).toString('base64url')
  const now = app.clock.now()
  await app.database.db
    .insertInto('sessions')
    .values({
      id: newRowId('session', now),
      token: hashToken(token),
      user_id,
      org_id,
      ip_address: null,
      user_agent: null,
      created_at: now,
      updated_at: now,
      expires_at: addSeconds(now, SESSION_SECONDS),
    })
    .execute()
  return { cookie: signedPair(token, app.app.identity.cookie()) }
}

/** Agrees to the current video terms as this browser. */
export async function agree(app: TestApp, browser: { cookie: string }): Promise<void> {
  const terms_version = app.ctx.config.terms.version
  const { status, text } = await send(app, 'POST', '/v1/videos/acceptance', browser, { terms_version })
  if (status !== 200) throw new Error(`terms refused: ${text}`)
}

/** A valid body for `POST /v1/videos`. */
export function videoBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'instant-1', prompt: 'A paper boat on a calm lake', seconds: 4, aspect_ratio: '16:9', ...changes }
}

/** A clock that can be moved by hand and goes on from there. */
function runningClock(): Clock & { advance(seconds: number): void; set(date: Date): void } {
  let ahead_ms = 0
  return {
    now: () => new Date(Date.now() + ahead_ms),
    advance: (seconds) => {
      ahead_ms += seconds * 1000
    },
    set: (date) => {
      ahead_ms = date.getTime() - Date.now()
    },
  }
}

/** Runs every job that is due by the hand-moved clock until none is. */
async function tick(ctx: Context, faults: Faults): Promise<void> {
  for (;;) {
    const due = await ctx.db
      .selectFrom('video_jobs')
      .select('id')
      .where('finished_at', 'is', null)
      .where('next_run_at', '<=', ctx.clock.now())
      .execute()
    if (due.length === 0) return
    for (const { id } of due) {
      const claim_id = `tick/${randomBytes(8).toString('hex')}`
      const job = await claimJob(ctx.db, id, claim_id)
      if (!job) continue
      await runJob(ctx, job, { signal: new AbortController().signal, faults })
      await videoClaims.release(ctx.db, [{ id, claim_id }])
    }
  }
}

function readConfig(text: string, { dir, previous_secrets }: { dir: string; previous_secrets: readonly string[] }) {
  const path = join(dir, 'kinora.yaml')
  writeFileSync(path, text)
  const env = { KINORA_SECRET_PREVIOUS: previous_secrets.join(',') }
  return loadConfig({ config: path, data_dir: dir }, env, engineMistakes)
}
