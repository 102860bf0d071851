import { availableParallelism } from 'node:os'

/** What a child does. Renders and mending take minutes, the others seconds. */
export type ChildKind = 'render' | 'mending' | 'moderation' | 'document'

/** Default of `limits.media_children`: two long jobs and a short one, fewer on a small machine. */
export const CHILDREN_DEFAULT = Math.max(2, Math.min(3, availableParallelism()))

/** Most that may wait for a child of one kind; more are refused at once. */
export const WAITING_MAX = 64

/** The queue for a child of this kind is full. Nothing was started; the same work may be tried again later. */
export class ChildrenBusy extends Error {
  override name = 'ChildrenBusy'
}

/** Sets how many children this process runs at once, at least 2. Running ones are not stopped. */
export function limitChildren(max: number): void {
  children_max = Math.max(2, max)
  startNext()
}

/** Whether more work of this kind would be refused now. */
export function isChildQueueFull(kind: ChildKind): boolean {
  return queueOf(kind).length >= WAITING_MAX
}

/**
 * Resolves when a child of this kind may be started, with a function that releases its slot. Kinds take turns and each is served first
 * come, first served, so that a hundred documents do not delay one moderation; one slot is never given to long work.
 * Throws ChildrenBusy, or the signal's reason while it waits.
 */
export async function enterChild(kind: ChildKind, signal?: AbortSignal): Promise<() => void> {
  signal?.throwIfAborted()
  if (isChildQueueFull(kind)) throw new ChildrenBusy(`The queue for a child process is full: ${kind}.`)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const queue = queueOf(kind)
  queue.push(resolve)
  const onAbort = () => {
    const place = queue.indexOf(resolve)
    if (place >= 0) queue.splice(place, 1)
    reject(signal?.reason)
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  startNext()
  await promise.finally(() => signal?.removeEventListener('abort', onAbort))
  return () => {
    running.splice(running.indexOf(kind), 1)
    startNext()
  }
}

const KINDS: readonly ChildKind[] = ['moderation', 'document', 'mending', 'render']
const LONG: ReadonlySet<ChildKind> = new Set(['render', 'mending'])

// The limit protects the machine from this process, so it is one for the process, whatever runs in it.
let children_max = CHILDREN_DEFAULT
let last_started = KINDS.length - 1
const running: ChildKind[] = []
const queues = new Map<ChildKind, Array<() => void>>()

function queueOf(kind: ChildKind): Array<() => void> {
  const queue = queues.get(kind) ?? []
  queues.set(kind, queue)
  return queue
}

function startNext(): void {
  while (running.length < children_max) {
    const kind = nextKind()
    if (kind === undefined) return
    last_started = KINDS.indexOf(kind)
    running.push(kind)
    queueOf(kind).shift()!()
  }
}

/** The next kind after the last one served that has work waiting and a slot for it. */
function nextKind(): ChildKind | undefined {
  const isLongFull = running.filter((kind) => LONG.has(kind)).length >= children_max - 1
  const order = KINDS.map((_, i) => KINDS[(last_started + 1 + i) % KINDS.length]!)
  return order.find((kind) => queueOf(kind).length > 0 && !(isLongFull && LONG.has(kind)))
}
