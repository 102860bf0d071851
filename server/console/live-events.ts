import { BALANCE_TOPIC } from '../billing/balance-changes.ts'
import { balanceView } from '../billing/schema.ts'
import { findAccount } from '../billing/store.ts'
import type { Context } from '../context.ts'
import { type Callers, sessionEnd } from '../identity/caller/authenticate.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { findSessionOwners } from '../identity/login/store.ts'
import { ApiError } from '../platform/errors.ts'
import { type EncodedFrames, type EventStream, encodeFrames } from '../platform/http/sse.ts'
import { takingTurnsAs, turnTaker } from '../platform/turns.ts'
import { isTerminal } from '../videos/job.ts'
import { DELETED_TOPIC, VIDEO_TOPIC } from '../videos/queues.ts'
import { videoView } from '../videos/schema.ts'
import { findJobsOfOrganizations } from '../videos/store.ts'

/** Streams of one session: more tabs than anybody has open. */
const STREAMS_PER_SESSION = 8
/** Streams of one person in all sessions: what changes is written to each. */
const STREAMS_PER_PERSON = 16
/** Changes within this time are read and sent together, and longer where that takes long: it is done for at most a fifth of the time. */
const GATHER_MILLISECONDS = 50
const REST = 4
/** How often sessions are looked up that ended without a notice: by age, or while notices failed. */
const CHECK_MILLISECONDS = 3000
/** Jobs of one query: 3 MB where all have prompts as long as they may be. */
const BATCH = 100
/** After a fault of the database. */
const RETRY_MILLISECONDS = 1000

export type LiveEvents = {
  /**
   * Streams what changes in the caller's organization until the client leaves, the session ends or moves to another organization, or
   * the service stops. `open` sends the headers. Throws ApiError `rate_limit_exceeded` for a session, or a person, with
   * too many streams.
   */
  join(caller: Principal, open: () => EventStream): void
  /** Ends every stream. */
  close(): void
}

type Listener = {
  caller: Principal
  stream: EventStream
  /** The client does not read and bytes are waiting; changes in the meantime are replaced by one `ready`. */
  behind: 'no' | 'yes' | 'and_missed'
  over: boolean
}

/** What changed since the last flush. */
type News = { jobs: Set<string>; deleted: Set<string>; balances: Set<string>; missed: boolean }

type Live = Pick<Context, 'db' | 'clock' | 'config' | 'changes' | 'log'>

/** Live changes for the browsers that have the console open. Costs no query while there are none. */
export function openLiveEvents(ctx: Live, callers: Pick<Callers, 'onForget'>): LiveEvents {
  const listeners = new Set<Listener>()
  const broadcast = openBroadcast(ctx, listeners)
  const forget = (listener: Listener) => {
    listener.over = true
    listeners.delete(listener)
  }
  const end = (listener: Listener) => {
    if (!listener.over) listener.stream.end(END)
    forget(listener)
  }
  const check = async (suspects: readonly Listener[]) => {
    for (const each of await endedListeners(ctx, suspects)) end(each)
  }
  const checking = setInterval(() => check([...listeners]), CHECK_MILLISECONDS).unref()
  const stops = [
    ctx.changes.on(VIDEO_TOPIC, (id) => broadcast.add('jobs', id)),
    ctx.changes.on(DELETED_TOPIC, (id) => broadcast.add('deleted', id)),
    ctx.changes.on(BALANCE_TOPIC, (id) => broadcast.add('balances', id)),
    callers.onForget((notice) => check([...listeners].filter(({ caller }) => isNamed(caller, notice)))),
  ]
  return {
    join(caller, open) {
      const own = [...listeners].filter((each) => each.caller.user_id === caller.user_id)
      const of_session = own.filter((each) => each.caller.session_id === caller.session_id)
      if (own.length >= STREAMS_PER_PERSON || of_session.length >= STREAMS_PER_SESSION) {
        throw new ApiError('rate_limit_exceeded', 'Too many of your pages listen. Please try again in 10s.')
      }
      const listener: Listener = { caller, stream: open(), behind: 'no', over: false }
      const { signal } = listener.stream
      if (signal.aborted) return
      listeners.add(listener)
      signal.addEventListener('abort', () => forget(listener), { once: true })
      send(listener, READY)
      // It may have ended between the look-up of the caller and this.
      check([listener])
    },
    close() {
      clearInterval(checking)
      for (const stop of stops) stop()
      broadcast.close()
      for (const each of [...listeners]) end(each)
    },
  }
}

/**
 * Gathers changes, reads the rows once for all listeners, and sends each listener those of their organization. What changes meanwhile is read
 * after that, so no listener gets an older state of a job last.
 */
function openBroadcast(ctx: Live, listeners: ReadonlySet<Listener>) {
  let news = noNews()
  /** Until what is gathered has been sent. */
  let timer: NodeJS.Timeout | null = null
  let rests_until = 0
  const later = (milliseconds: number) => {
    const pause = Math.max(milliseconds, rests_until - performance.now())
    timer ??= setTimeout(() => void takingTurnsAs('', flush), pause).unref()
  }
  const flush = async () => {
    const began = performance.now()
    const batch = news
    news = noNews()
    let pause = GATHER_MILLISECONDS
    try {
      const sendAll = sender()
      if (batch.missed) await sendAll([...listeners], READY)
      else await sendNews(ctx, { listeners, sendAll }, batch)
    } catch (error) {
      ctx.log.warn('live_events_failed', { error })
      news.missed = true
      pause = RETRY_MILLISECONDS
    }
    timer = null
    rests_until = performance.now() + REST * (performance.now() - began)
    if (news.missed || news.jobs.size + news.deleted.size + news.balances.size > 0) later(pause)
  }
  return {
    add(kind: 'jobs' | 'deleted' | 'balances', id: string | null) {
      if (listeners.size === 0) return
      if (id === null) news.missed = true
      else news[kind].add(id)
      later(GATHER_MILLISECONDS)
    },
    close() {
      if (timer) clearTimeout(timer)
    },
  }
}

async function sendNews(
  ctx: Live,
  { listeners, sendAll }: { listeners: ReadonlySet<Listener>; sendAll: SendAll },
  news: News,
): Promise<void> {
  const present = Map.groupBy(listeners, ({ caller }) => caller.org_id)
  const org_ids = [...present.keys()]
  const paid = new Set(news.balances)
  const ids = [...news.jobs]
  for (let i = 0; i < ids.length && listeners.size > 0; i += BATCH) {
    const rows = await findJobsOfOrganizations(ctx.db, { ids: ids.slice(i, i + BATCH), org_ids })
    for (const row of rows) {
      if (row.status === 'moderating' || isTerminal(row.status)) paid.add(row.org_id)
      const view = videoView(row)
      await sendAll(present.get(row.org_id), frame('video', view))
      const own =
        isTerminal(row.status) && present.get(row.org_id)?.filter(({ caller }) => caller.user_id === row.user_id)
      if (own) await sendAll(own, frame('own_video_ended', view))
    }
  }
  for (const each of news.deleted) {
    const [org_id, id] = each.split('/') as [string, string]
    await sendAll(present.get(org_id), frame('video', { id, object: 'video', deleted: true }))
  }
  for (const org_id of org_ids) {
    const account = paid.has(org_id) ? await findAccount(ctx.db, org_id) : null
    if (account) await sendAll(present.get(org_id), frame('balance', balanceView(account, ctx.config.currency)))
  }
}

type SendAll = (listeners: readonly Listener[] | undefined, frames: EncodedFrames) => Promise<void>

/** Sends the same to each of some listeners, then of others, with other work between. */
function sender(): SendAll {
  const turn = turnTaker(1)
  return async (listeners = [], frames) => {
    for (const each of listeners) {
      send(each, frames)
      const other = turn()
      if (other) await other
    }
  }
}

/** Anything may have changed: sent at the beginning, and when changes may have been missed. */
const READY = frame('ready', { object: 'console_events' })

/** The last event of a stream: the session is over or the service stops. */
const END = textFrame('end', { object: 'console_events' })

function send(listener: Listener, frames: EncodedFrames): void {
  if (listener.over) return
  if (listener.behind !== 'no') {
    listener.behind = 'and_missed'
    return
  }
  const drained = listener.stream.write(frames)
  if (!drained) return
  listener.behind = 'yes'
  void drained.then(() => {
    const missed = listener.behind === 'and_missed'
    listener.behind = 'no'
    if (missed) send(listener, READY)
  })
}

/**
 * Listeners whose session is over or has moved to another organization; all of them when the database cannot be read. A stream does not
 * count as use of a session, so it keeps none alive.
 */
async function endedListeners(ctx: Live, suspects: readonly Listener[]): Promise<readonly Listener[]> {
  if (suspects.length === 0) return []
  try {
    const ids = [...new Set(suspects.map(({ caller }) => caller.session_id!))]
    const now = ctx.clock.now()
    const owners = new Map((await findSessionOwners(ctx.db, ids)).map((owner) => [owner.id, owner]))
    return suspects.filter(({ caller }) => {
      const owner = owners.get(caller.session_id!)
      if (!owner || owner.org_id !== caller.org_id) return true
      return sessionEnd({ last_use: owner.updated_at, expires_at: owner.expires_at }) <= now
    })
  } catch (error) {
    ctx.log.warn('live_events_ended', { error })
    return suspects
  }
}

function isNamed(caller: Principal, notice: string | null): boolean {
  return notice === null || notice === `session:${caller.session_id}` || notice === `user:${caller.user_id}`
}

function noNews(): News {
  return { jobs: new Set(), deleted: new Set(), balances: new Set(), missed: false }
}

function frame(event: string, data: object): EncodedFrames {
  return encodeFrames(textFrame(event, data))
}

function textFrame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
