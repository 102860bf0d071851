import type { Kysely } from 'kysely'
import Type, { type Static } from 'typebox'
import { findAuditState } from './billing/audit-state.ts'
import { type Route, route } from './identity/caller/route.ts'
import { type Blobs, DiskFull } from './platform/blobs/blobs.ts'
import { type Clock, unixSeconds } from './platform/clock.ts'
import { type Database, outageOf } from './platform/db/db.ts'
import { requireUsable } from './platform/db/usable.ts'
import { freshCache } from './platform/fresh-cache.ts'
import { withTimeout } from './platform/timeout.ts'
import { takingTurnsAs } from './platform/turns.ts'

/** The states of what a process needs, as `/readyz` names them. */
export const STATES = {
  database: ['ok', 'unreachable', 'read_only', 'full', 'sessions_shared'],
  storage: ['ok', 'full', 'unwritable', 'away'],
} as const

const Parts = {
  database: Type.Enum([...STATES.database], {
    description:
      '`full`: the disk of PostgreSQL. `sessions_shared`: a pooler in transaction mode, where locks are lost.',
  }),
  storage: Type.Enum([...STATES.storage], {
    description: '`away`: the bucket does not answer. Every node has the same one, so none becomes unready by it.',
  }),
}
export type Health = { status: 'ok' | 'failing' } & Static<typeof HealthParts>
const HealthParts = Type.Object(Parts)

const AliveView = Type.Object({ status: Type.Enum(['ok']), ...Parts })

/** A broken invariant stops new video jobs and nothing else, so it does not make a process unready. The log names it. */
const AuditView = Type.Object({
  ok: Type.Boolean({ description: 'False: a check of I1 to I4 failed, and new video jobs are refused.' }),
  checked_at: Type.Union([Type.Integer({ description: 'Unix seconds.' }), Type.Null()]),
})

const ReadyView = Type.Object({
  status: Type.Enum(['ok', 'failing']),
  reason: Type.Union([Type.Enum(['migrating', 'draining', 'database', 'storage']), Type.Null()], {
    description: 'Why it is not ready. A node that waits for its database or a migration answers this field alone.',
  }),
  ...Parts,
  audit: AuditView,
})

/**
 * For monitors. `/healthz`: whether to restart the process, which helps against nothing but a process that does not answer. `/readyz`: whether
 * to send it requests: 503 while it stops, and while the database or its own disk does not work. Without the bucket it takes them still: chat and
 * whatever else needs no file goes on, and no other node would do better.
 */
export function healthRoutes({
  check,
  lastAudit,
  isStopping,
}: {
  check: () => Promise<Health>
  lastAudit: ReturnType<typeof openLastAudit>
  isStopping: () => boolean
}): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/healthz',
      auth: 'none',
      summary: 'Whether this process is alive: 200 also while its database or storage is away',
      internal: true,
      response: AliveView,
      async handle(_ctx, { reply }) {
        const { database, storage } = await withTimeout(ALIVE_MS, check(), () => NOT_ANSWERED)
        return reply.header('cache-control', 'no-store').send({ status: 'ok', database, storage })
      },
    }),
    route({
      method: 'GET',
      path: '/readyz',
      auth: 'none',
      summary: 'Whether this process takes requests, and whether the last audit found the accounts sound',
      internal: true,
      response: ReadyView,
      async handle(_ctx, { reply }) {
        const [{ database, storage }, audit] = await Promise.all([check(), lastAudit()])
        const reason = unreadyReason({ database, storage }, { stopping: isStopping() })
        const status = reason === null ? 'ok' : 'failing'
        return reply
          .status(reason === null ? 200 : 503)
          .header('cache-control', 'no-store')
          .send({ status, reason, database, storage, audit })
      },
    }),
  ]
}

/** Why a process is not to be sent requests; null while it is. */
export function unreadyReason(
  { database, storage }: Pick<Health, 'database' | 'storage'>,
  { stopping }: { stopping: boolean },
): 'draining' | 'database' | 'storage' | null {
  if (stopping) return 'draining'
  if (database !== 'ok') return 'database'
  return storage === 'ok' || storage === 'away' ? null : 'storage'
}

/** Whoever asks whether the process is alive may wait for less than a second, and restarts it otherwise. */
const ALIVE_MS = 500
const NOT_ANSWERED: Health = { status: 'failing', database: 'unreachable', storage: 'unwritable' }

const NOT_AUDITED = { ok: true, checked_at: null }

/** Reads what the last audit found; while the database does not answer, what was read before. */
export function openLastAudit(db: Kysely<Database>): () => Promise<Static<typeof AuditView>> {
  let known: Static<typeof AuditView> = NOT_AUDITED
  return bounded(
    { limit_ms: LIMIT_MS },
    () => known,
    async () => {
      const state = await findAuditState(db)
      known = state ? { ok: state.broken.length === 0, checked_at: unixSeconds(state.checked_at) } : NOT_AUDITED
      return known
    },
  )
}

/** A result is reused this long, so that frequent checks cost nothing. */
const FRESH_MS = 1000
/** Longest a check may take before it counts as failed: monitors commonly give up after one to five seconds. */
const LIMIT_MS = 1000
/** What a check found holds this long while the next one is late: a busy machine is slow for a moment, and a balancer would take its node out. */
const BELIEVED_MS = 3000
/** Enough to meet a full disk: file systems keep a smaller file without taking a block. */
const WRITTEN_BYTES = 65_536

/**
 * Checks what every request needs: a database that can be used, and a small file written and removed again. It always answers within `limit_ms`; a check
 * that hangs goes on in the background, is not started a second time, and counts as failed once nothing has been found for `BELIEVED_MS`.
 */
export function openHealth(needs: {
  db: Kysely<Database>
  blobs: Blobs
  clock: Clock
  limit_ms?: number
}): () => Promise<Health> {
  const { db, blobs, clock, limit_ms = LIMIT_MS } = needs
  const now_ms = () => clock.now().getTime()
  const limits = { limit_ms, believed_ms: BELIEVED_MS, now_ms }
  const database = bounded<Health['database']>(
    limits,
    () => 'unreachable',
    async () => {
      try {
        await requireUsable(db)
        return 'ok'
      } catch (error) {
        return outageOf(error)
      }
    },
  )
  const disk = bounded<Health['storage']>(
    limits,
    () => 'unwritable',
    () => tryStaging(blobs),
  )
  const bucket = bounded<Health['storage']>(
    limits,
    () => 'away',
    () => tryStoring(blobs),
  )
  const recent = freshCache<Health>({ ttl_ms: FRESH_MS, entries_max: 1, now_ms })
  return async () => (await recent.find('health', () => takingTurnsAs('', both)))!

  async function both(): Promise<Health> {
    const [reached, staged, stored] = await Promise.all([database(), disk(), bucket()])
    const storage = staged === 'ok' ? stored : staged
    return { status: reached === 'ok' && storage === 'ok' ? 'ok' : 'failing', database: reached, storage }
  }
}

async function tryStaging(blobs: Blobs): Promise<Health['storage']> {
  try {
    await blobs.discard(await blobs.stage(oneChunk(), { max_bytes: WRITTEN_BYTES }))
    return 'ok'
  } catch (error) {
    if (error instanceof DiskFull) return 'full'
    throw error
  }
}

async function tryStoring(blobs: Blobs): Promise<Health['storage']> {
  await blobs.check()
  return 'ok'
}

async function* oneChunk(): AsyncIterable<Uint8Array> {
  yield new Uint8Array(WRITTEN_BYTES)
}

/**
 * Runs `work` at most once at a time; resolves to what `failed` gives when it throws, or has not ended in time since it began and did not
 * end within `believed_ms` before.
 */
function bounded<T>(
  { limit_ms, believed_ms = 0, now_ms = () => 0 }: { limit_ms: number; believed_ms?: number; now_ms?: () => number },
  failed: () => T,
  work: () => Promise<T>,
): () => Promise<T> {
  let running: { ended: Promise<T>; limit: Promise<void> } | null = null
  let known: { value: T; at: number } | null = null
  const begin = () => {
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limit_ms)
    })
    const ended = work()
      .catch(failed)
      .then((value) => {
        clearTimeout(timer)
        known = { value, at: now_ms() }
        running = null
        return value
      })
    return { ended, limit }
  }
  const late = () => (known && now_ms() - known.at < believed_ms ? known.value : failed())
  return () => {
    running ??= begin()
    return Promise.race([running.ended, running.limit.then(late)])
  }
}
