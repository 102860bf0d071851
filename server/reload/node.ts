import { hostname } from 'node:os'
import type { Config } from '../config/config.ts'
import type { LiveContext } from '../context.ts'
import { recordActivity } from '../identity/activity/activity.ts'
import { operatorHere } from '../identity/activity/operator.ts'
import { StartError } from '../platform/start-error.ts'
import { findNewestReload, type ProcessAnswer, type ReloadRow, saveAnswers } from './store.ts'

/** Announced with the id of a row of `reloads`: every node reads its configuration again. */
export const RELOAD_TOPIC = 'reload'

export type NextSettings = { config: Config; secret: string }

/** Other settings, built and not yet in use. */
export type PreparedReload = {
  /** Takes them up. It cannot fail. */
  apply(): void
  /** Closes what was built for them. */
  discard(): Promise<void>
}

export type NodeReload = {
  /** Reads the configuration of this node again and has its processes take it up: all of them, or, when it has a mistake, none. */
  reload(): Promise<ProcessAnswer[]>
  /** Stops listening; one under way ends first. */
  close(): Promise<void>
}

export type NodeReloadOptions = {
  node_id: string
  ctx: Pick<LiveContext, 'config' | 'secret' | 'db' | 'clock' | 'changes' | 'log'>
  /** Reads and checks the whole configuration. Throws StartError naming every mistake. */
  read: () => NextSettings
  /** The names of what it would change. Throws StartError when a change needs a restart. */
  changedBy: (next: NextSettings) => string[]
  /** Makes it known to the other nodes. Throws StartError when it would not fit them. */
  rejoin?: (next: NextSettings) => Promise<void>
  /** Builds what it sets up in this process. Throws when that cannot be had, with nothing changed. */
  prepare: (next: NextSettings) => PreparedReload
  /** Has the HTTP processes of this node take it up. Returns their process ids. */
  applyToOthers?: ((next: NextSettings) => Promise<number[]>) | undefined
  /** Process ids of the HTTP processes. */
  others?: (() => number[]) | undefined
}

/**
 * Reloads one node: on its own request, and on those that any process announces. Reloads of a node come one after the other. Resolves once
 * the node has taken up what changed since its start read the configuration, which may have waited for the database since then.
 */
export async function openNodeReload(options: NodeReloadOptions): Promise<NodeReload> {
  const { ctx } = options
  let last = ''
  let running: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = running.then(work)
    running = done.catch(() => {})
    return done
  }
  const started = inTurn(async () => {
    const newest = await findNewestReload(ctx.db)
    last = newest?.id ?? ''
    // Whoever asked while this process started counts on its answer; an older request was answered by those that ran then.
    const asked = newest && newest.requested_at.getTime() > startedAt(ctx)
    const answers = await reloadNode(options, { reload_id: asked ? last : null, at_start: true })
    if (asked) await saveAnswers(ctx.db, last, answers)
  })
  const answer = async () => {
    const newest: ReloadRow | null = await findNewestReload(ctx.db)
    // Ids sort by time: of several requests the newest stands for all that are waiting.
    if (newest === null || newest.id <= last) return
    const answers = await reloadNode(options, { reload_id: newest.id })
    last = newest.id
    await saveAnswers(ctx.db, newest.id, answers)
  }
  const stopListening = ctx.changes.on(RELOAD_TOPIC, () => {
    inTurn(answer).catch((error: unknown) => ctx.log.error('reload_failed', { error }))
  })
  await started.catch((error: unknown) => {
    stopListening()
    throw error
  })
  return {
    reload: () => inTurn(() => reloadNode(options, { reload_id: null })),
    async close() {
      stopListening()
      await running
    },
  }
}

/** When this process started, in milliseconds by the clock of the service. */
function startedAt({ clock }: Pick<LiveContext, 'clock'>): number {
  return clock.now().getTime() - process.uptime() * 1000
}

async function reloadNode(
  options: NodeReloadOptions,
  { reload_id, at_start = false }: { reload_id: string | null; at_start?: boolean },
): Promise<ProcessAnswer[]> {
  const { node_id, ctx, read, changedBy, prepare, applyToOthers, others } = options
  const host = hostname()
  const answersOf = (pids: readonly number[], result: ProcessAnswer['result'], details: string[]) =>
    pids.map((pid) => ({ node_id, host, pid, result, details }))
  try {
    const next = read()
    const changed = changedBy(next)
    if (changed.length === 0) {
      if (!at_start) ctx.log.info('configuration_unchanged')
      return answersOf([process.pid, ...(others?.() ?? [])], 'unchanged', [])
    }
    const prepared = prepare(next)
    await publishChange(options, { next, changed, reload_id }).catch(async (error: unknown) => {
      await prepared.discard()
      throw error
    })
    prepared.apply()
    const pids = [process.pid, ...((await applyToOthers?.(next)) ?? [])]
    ctx.log.info('configuration_reloaded', { count: changed.length, detail: changed.join(', ') })
    return answersOf(pids, 'applied', changed)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    for (const detail of error.message.split('\n')) ctx.log.error('configuration_refused', { detail })
    return answersOf([process.pid, ...(others?.() ?? [])], 'refused', error.message.split('\n'))
  }
}

/** Makes a change known to the other nodes and records it. Throws with neither done. */
async function publishChange(
  { ctx, rejoin }: NodeReloadOptions,
  { next, changed, reload_id }: { next: NextSettings; changed: string[]; reload_id: string | null },
): Promise<void> {
  const before = { config: ctx.config, secret: ctx.secret }
  await rejoin?.(next)
  const deed = { actor: operatorHere(), action: 'configuration.change', org_id: null, target: reload_id } as const
  try {
    const record = { ...deed, details: { changed }, now: ctx.clock.now() }
    await ctx.db.transaction().execute((tx) => recordActivity(tx, record))
  } catch (error) {
    // The node is as it was, and so is what the others know of it.
    await rejoin?.(before).catch((failed: unknown) => ctx.log.warn('node_not_rejoined', { error: failed }))
    throw error
  }
}
