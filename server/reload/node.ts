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
  /** Has this process take it up. */
  apply: (next: NextSettings) => void
  /** Has the HTTP processes of this node take it up. Returns their process ids. */
  applyToOthers?: ((next: NextSettings) => Promise<number[]>) | undefined
  /** Process ids of the HTTP processes. */
  others?: (() => number[]) | undefined
}

/** Reloads one node: on its own request, and on those that any process announces. Reloads of a node come one after the other. */
export async function openNodeReload(options: NodeReloadOptions): Promise<NodeReload> {
  const { ctx } = options
  let last = (await findNewestReload(ctx.db))?.id ?? ''
  let running: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = running.then(work)
    running = done.catch(() => {})
    return done
  }
  const answer = async () => {
    const newest: ReloadRow | null = await findNewestReload(ctx.db)
    // Ids sort by time: of several requests the newest stands for all that are waiting.
    if (newest === null || newest.id <= last) return
    const answers = await reloadNode(options, newest.id)
    last = newest.id
    await saveAnswers(ctx.db, newest.id, answers)
  }
  const stopListening = ctx.changes.on(RELOAD_TOPIC, () => {
    inTurn(answer).catch((error: unknown) => ctx.log.error('reload_failed', { error }))
  })
  return {
    reload: () => inTurn(() => reloadNode(options, null)),
    async close() {
      stopListening()
      await running
    },
  }
}

async function reloadNode(
  { node_id, ctx, read, changedBy, rejoin, apply, applyToOthers, others }: NodeReloadOptions,
  reload_id: string | null,
): Promise<ProcessAnswer[]> {
  const host = hostname()
  const answersOf = (pids: readonly number[], result: ProcessAnswer['result'], details: string[]) =>
    pids.map((pid) => ({ node_id, host, pid, result, details }))
  try {
    const next = read()
    const changed = changedBy(next)
    if (changed.length === 0) {
      ctx.log.info('configuration_unchanged')
      return answersOf([process.pid, ...(others?.() ?? [])], 'unchanged', [])
    }
    const before = { config: ctx.config, secret: ctx.secret }
    await rejoin?.(next)
    const deed = { actor: operatorHere(), action: 'configuration.change', org_id: null, target: reload_id } as const
    try {
      const record = { ...deed, details: { changed }, now: ctx.clock.now() }
      await ctx.db.transaction().execute((tx) => recordActivity(tx, record))
      apply(next)
    } catch (error) {
      // The node is as it was, and so is what the others know of it.
      await rejoin?.(before)
      throw error
    }
    const pids = [process.pid, ...((await applyToOthers?.(next)) ?? [])]
    ctx.log.info('configuration_reloaded', { count: changed.length, detail: changed.join(', ') })
    return answersOf(pids, 'applied', changed)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    for (const detail of error.message.split('\n')) ctx.log.error('configuration_refused', { detail })
    return answersOf([process.pid, ...(others?.() ?? [])], 'refused', error.message.split('\n'))
  }
}
