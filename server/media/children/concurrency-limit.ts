import { availableParallelism } from 'node:os'
import { ApiError, overloaded } from '../../platform/errors.ts'
import { type FairQueue, openFairQueue } from '../../platform/fair-queue.ts'

/** What a child does. Renders and repair take minutes, the others seconds. */
export type ChildKind = 'render' | 'repair' | 'moderation' | 'document' | 'variant'

/** Default of `limits.media_children`: two long jobs and a short one, fewer on a small machine. */
export const CHILDREN_DEFAULT = Math.max(2, Math.min(3, availableParallelism()))

/** Most that may wait for a child of one kind; more are refused at once. */
export const WAITING_MAX = 64
/** Most of them that one owner may have waiting: half of the places are left to others. */
export const WAITING_OF_ONE_MAX = WAITING_MAX / 2

/** As many children of this kind wait as may, of the owner or of the process. Nothing was started; the same work may be tried again later. */
export class ChildrenBusy extends Error {
  override name = 'ChildrenBusy'
  readonly limit: 'owner' | 'process'

  constructor(kind: ChildKind, limit: 'owner' | 'process') {
    super(`The queue for a child process is full: ${kind}, limit of the ${limit}.`)
    this.limit = limit
  }
}

/** The error for the client. `things`: what the children are for, such as PDFs. */
export function busyProblem(error: ChildrenBusy, things: string): ApiError {
  const options = { retry_after_seconds: BUSY_SECONDS, cause: error }
  if (error.limit === 'process')
    return overloaded('media_children', `Too many ${things} are waiting. Try again in a few seconds.`, options)
  const text = `Your organization has ${WAITING_OF_ONE_MAX} ${things} waiting. Wait for answers before you send more.`
  return new ApiError('too_many_requests', text, options)
}

const BUSY_SECONDS = 5

/** Sets how many children this process runs at once, at least 2, without the one more of `enterChild`. Running ones are not stopped. */
export function limitChildren(max: number): void {
  children_max = Math.max(2, max)
  startNext()
}

/** How many more children may run now. Those that wait for another task must not be more. */
export function freeSlots(): number {
  return children_max - running.length
}

/** Whether more work of this kind would be refused now. */
export function isChildQueueFull(kind: ChildKind): boolean {
  return queueOf(kind).size() >= WAITING_MAX
}

/**
 * Resolves when a child of this kind may be started, with a function that releases its slot. Kinds take turns, so that a hundred documents do
 * not delay one moderation; so do the owners of each kind, who may be organizations, and those without one share a line. One slot is never
 * given to long work. Where one owner has all others, short work of another owner gets one more: a document may take its full time limit.
 * Throws ChildrenBusy, or the signal's reason while it waits.
 */
export async function enterChild(
  kind: ChildKind,
  { signal, owner }: { signal?: AbortSignal | undefined; owner?: string | undefined } = {},
): Promise<() => void> {
  signal?.throwIfAborted()
  const queue = queueOf(kind)
  const line = owner ?? ''
  if (owner !== undefined && queue.size(line) >= WAITING_OF_ONE_MAX) throw new ChildrenBusy(kind, 'owner')
  if (isChildQueueFull(kind)) throw new ChildrenBusy(kind, 'process')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  queue.add(line, resolve)
  const onAbort = () => {
    queue.remove(line, resolve)
    reject(signal?.reason)
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  startNext()
  await promise.finally(() => signal?.removeEventListener('abort', onAbort))
  return () => {
    running.splice(
      running.findIndex((child) => child.kind === kind && child.owner === line),
      1,
    )
    startNext()
  }
}

const KINDS: readonly ChildKind[] = ['moderation', 'document', 'repair', 'render', 'variant']
const LONG: ReadonlySet<ChildKind> = new Set(['render', 'repair'])

// The limit protects the machine from this process, so it is one for the process, whatever runs in it.
let children_max = CHILDREN_DEFAULT
let last_started = KINDS.length - 1
const running: { kind: ChildKind; owner: string }[] = []
const queues = new Map<ChildKind, FairQueue<() => void>>()

function queueOf(kind: ChildKind): FairQueue<() => void> {
  const queue = queues.get(kind) ?? openFairQueue<() => void>()
  queues.set(kind, queue)
  return queue
}

function startNext(): void {
  for (let start = takeNext(); start; start = takeNext()) start()
}

/** Takes a slot for the next work: of the kinds after the last one served, the first that has work which may start. */
function takeNext(): (() => void) | undefined {
  const may = whoMayStart()
  if (!may) return undefined
  const order = KINDS.map((_, i) => KINDS[(last_started + 1 + i) % KINDS.length]!)
  for (const kind of order) {
    const next = queueOf(kind).take((owner) => may(kind, owner))
    if (!next) continue
    last_started = KINDS.indexOf(kind)
    running.push({ kind, owner: next.owner })
    return next.item
  }
  return undefined
}

function whoMayStart(): ((kind: ChildKind, owner: string) => boolean) | undefined {
  const short = running.filter(({ kind }) => !LONG.has(kind))
  const isLongFull = running.length - short.length >= children_max - 1
  if (running.length < children_max) return (kind) => !(isLongFull && LONG.has(kind))
  const sole = short[0]?.owner
  if (running.length > children_max || !sole || short.some(({ owner }) => owner !== sole)) return undefined
  return (kind, owner) => !LONG.has(kind) && owner !== sole
}
