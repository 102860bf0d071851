import type { FastifyReply } from 'fastify'
import { ApiError, overloaded } from '../../errors.ts'

const MEBIBYTE = 1024 * 1024

/**
 * Bytes that the requests of a process hold at once, and those of one owner among them. One request of an owner at a time may exceed the
 * share, so that of several that are partly read one goes on. A request waits for room for `wait_seconds` in all, a patient one without end:
 * of those that wait for each other one at a time may exceed the total. In memory a byte becomes three or four while a body is read.
 * `owner_requests`: how many requests of one owner may be unanswered, whatever their size.
 */
export type ByteLimits = { total: number; owner: number; wait_seconds: number; owner_requests: number }
/** The default for all owners together. */
export const TOTAL_BYTES = 512 * MEBIBYTE
const LIMITS: ByteLimits = {
  total: TOTAL_BYTES,
  owner: 40 * MEBIBYTE,
  wait_seconds: 10,
  // Each may have a connection to an engine beside its own, and a process has descriptors for 20,000.
  owner_requests: 4000,
}

/** Less is not counted, so that ordinary requests cost nothing here. */
const FREE_BYTES = 8 * 1024

/**
 * What a value of JSON counts, beside its text. 270 small items of a conversation, 810 values in 8 kB, took 219 kB until their model answered:
 * 270 bytes each. Most values take less, since most are texts.
 */
export const VALUE_BYTES = 100

/** The bytes of one request: of its body or message, and of the conversation and the files that were read for it. */
export type Lease = {
  /**
   * Counts bytes that are being read, or about to be. Undefined when there is room for them; else a promise to await before more is read. It
   * rejects with ApiError `too_many_requests` when the owner's share stays full, with `server_is_overloaded` when the process is full.
   */
  add(bytes: number): Promise<void> | undefined
  /**
   * The same for the values of a JSON text, which take many times their bytes; an array or object counts twice. They are a share of their own: a
   * body that waits for their room does not keep others from being read.
   */
  addValues(count: number): Promise<void> | undefined
  /** Gives back bytes that were counted and are in memory no longer. */
  giveBack(bytes: number): void
  /** Gives everything back, once the request is over. */
  end(): void
}

type Account = Omit<Lease, 'addValues'>

/** One account of bytes for all that large requests bring into the memory of a process, whichever way they come. */
export type ByteBudget = {
  /** `patient`: waits for room without a limit of time. */
  open(owner: string, options?: { patient?: boolean }): Lease
  /**
   * Counts a request of any size until it calls what this returns. Throws ApiError `too_many_requests` when its owner has as many as it may.
   */
  enter(owner: string): () => void
  /** Bytes held now, of one owner or of all. */
  held(owner?: string): number
}

/** What a lease holds. */
type Holder = { owner: string; patient: boolean; bytes: number }
type Asked = { holder: Holder; bytes: number }
type Waiting = Asked & { grant(): void }

export function openByteBudget(changes: Partial<ByteLimits> = {}): ByteBudget {
  const limits = { ...LIMITS, ...changes }
  const owners = new Map<string, number>()
  /** The holder of each owner that exceeds the share. */
  const exceeding = new Map<string, Holder>()
  /** The holder that exceeds the total. */
  let alone: Holder | null = null
  const waiting = new Set<Waiting>()
  let total = 0
  const held = (owner: string) => owners.get(owner) ?? 0
  const hasShare = ({ holder, bytes }: Asked) =>
    held(holder.owner) + bytes <= limits.owner || (exceeding.get(holder.owner) ?? holder) === holder
  const hasRoom = (asked: Asked) => hasShare(asked) && total + asked.bytes <= limits.total
  const hold = (holder: Holder, bytes: number) => {
    total += bytes
    holder.bytes += bytes
    const now = held(holder.owner) + bytes
    if (now > 0) owners.set(holder.owner, now)
    else owners.delete(holder.owner)
  }
  const take = ({ holder, bytes }: Asked) => {
    hold(holder, bytes)
    if (held(holder.owner) > limits.owner) exceeding.set(holder.owner, holder)
  }
  const release = (holder: Holder) => {
    if (exceeding.get(holder.owner) === holder) exceeding.delete(holder.owner)
    if (alone === holder) alone = null
    free(holder, holder.bytes)
  }
  const free = (holder: Holder, bytes: number) => {
    if (bytes === 0) return
    hold(holder, -bytes)
    if (exceeding.get(holder.owner) === holder && held(holder.owner) <= limits.owner) exceeding.delete(holder.owner)
    if (alone === holder && total <= limits.total) alone = null
    for (const each of waiting) if (hasRoom(each)) each.grant()
    letOneExceed()
  }
  const letOneExceed = () => {
    const next = nextToExceed([...waiting], { alone, hasShare, total: limits.total })
    if (next) alone = next.holder
    next?.grant()
  }
  const openAccount = (owner: string, { patient = false } = {}): Account => {
    const holder: Holder = { owner, patient, bytes: 0 }
    let [read, asked] = [0, 0]
    let ended = false
    let wait_ms = limits.wait_seconds * 1000
    const waits = new Set<(error: Error) => void>()
    const wait = (asked: Asked) =>
      new Promise<void>((resolve, reject) => {
        const since = performance.now()
        const leave = (settle: () => void) => {
          waiting.delete(entry)
          waits.delete(stop)
          clearTimeout(timer)
          wait_ms -= performance.now() - since
          settle()
        }
        const entry = { ...asked, grant: () => leave(() => resolve(take(asked))) }
        const stop = (error: Error) => leave(() => reject(error))
        const timeOut = () => stop(hasShare(asked) ? processFull() : shareFull(limits.owner))
        const timer = patient ? undefined : setTimeout(timeOut, Math.max(0, wait_ms))
        waiting.add(entry)
        waits.add(stop)
        if (patient) letOneExceed()
      })
    return {
      add(bytes) {
        read += bytes
        if (read <= FREE_BYTES || ended) return undefined
        const more = { holder, bytes: read - asked }
        asked = read
        if (!hasRoom(more)) return wait(more)
        take(more)
        return undefined
      },
      giveBack(bytes) {
        const counted = Math.min(bytes, holder.bytes)
        read -= bytes
        asked -= counted
        free(holder, counted)
      },
      end() {
        ended = true
        for (const stop of waits) stop(new ApiError('invalid_request_error', 'The request ended before it was read.'))
        release(holder)
      },
    }
  }
  return {
    enter: countRequests(limits.owner_requests),
    held: (owner) => (owner === undefined ? total : held(owner)),
    open: (owner, options) => leaseOf(openAccount(owner, options), openAccount(`${owner} values`, options)),
  }
}

/** Of an account for bytes and one for values. */
function leaseOf(bytes: Account, values: Account): Lease {
  return {
    ...bytes,
    addValues: (count) => values.add(count * VALUE_BYTES),
    end() {
      bytes.end()
      values.end()
    },
  }
}

function countRequests(most: number): ByteBudget['enter'] {
  const counts = new Map<string, number>()
  return (owner) => {
    const count = counts.get(owner) ?? 0
    if (count === most) throw tooManyRequests(most)
    counts.set(owner, count + 1)
    return () => {
      const others = counts.get(owner)! - 1
      if (others > 0) counts.set(owner, others)
      else counts.delete(owner)
    }
  }
}

/** Patient holders that each wait for what the others hold would wait for ever: the first goes on, beyond the total, until its end. */
function nextToExceed(
  waiting: readonly Waiting[],
  { alone, hasShare, total }: { alone: Holder | null; hasShare(asked: Asked): boolean; total: number },
): Waiting | undefined {
  const stuck = waiting.filter(({ holder }) => holder.patient)
  const kept = [...new Set(stuck.map(({ holder }) => holder))].reduce((sum, { bytes }) => sum + bytes, 0)
  if (stuck.some((each) => hasShare(each) && kept + each.bytes <= total)) return undefined
  const own = stuck.filter(({ holder }) => holder === alone)
  // It has all that it waited for, and will end.
  if (alone && own.length === 0) return undefined
  return [...own, ...stuck].find(hasShare)
}

/** A lease that ends once the answer has been sent or the client is gone. Throws ApiError `too_many_requests`, as `enter` does. */
export function leaseUntilClosed(budget: ByteBudget, owner: string, { raw }: Pick<FastifyReply, 'raw'>): Lease {
  const leave = budget.enter(owner)
  const lease = budget.open(owner)
  const end = () => {
    lease.end()
    leave()
  }
  // The client may have gone while the caller was being looked up.
  if (raw.destroyed) end()
  else raw.once('close', end)
  return lease
}

/**
 * The same for what is read to be returned. It is a share of its own: whoever follows a response must not hold the room that its worker waits
 * for.
 */
export function leaseForReading(budget: ByteBudget, owner: string, reply: Pick<FastifyReply, 'raw'>): Lease {
  return leaseUntilClosed(budget, `${owner} reads`, reply)
}

/** For an answer that is put together in memory: a share of its own, which it waits for as long as its client does. */
export function leaseForAnswer(budget: ByteBudget, owner: string, { raw }: Pick<FastifyReply, 'raw'>): Lease {
  const lease = budget.open(answersOf(owner), { patient: true })
  if (raw.destroyed) lease.end()
  else raw.once('close', lease.end)
  return lease
}

/** A lease that waits for room until `left` aborts, which ends it; otherwise the caller does. */
export function leaseUntilLeft(budget: ByteBudget, owner: string, left: AbortSignal): Lease {
  const lease = budget.open(owner, { patient: true })
  if (left.aborted) lease.end()
  else left.addEventListener('abort', lease.end, { once: true })
  return lease
}

/** Who owns the answers of an organization. */
export function answersOf(owner: string): string {
  return `${owner} answers`
}

/** Less than this is read in one query, and counted afterwards. */
const AT_ONCE_BYTES_MAX = 64 * 1024

/**
 * Reads what the database measures: a little at once, what is more when `lease` has room for it. `find` leaves the content out, as null, where
 * that has more than `bytes_max` bytes.
 */
export async function readWithRoom<T>(
  lease: Lease,
  find: (bytes_max: number) => Promise<{ bytes: number; content: T | null }>,
): Promise<T> {
  for (let leased = 0; ; ) {
    const { bytes, content } = await find(Math.max(leased, AT_ONCE_BYTES_MAX))
    // It may have grown since it was looked at.
    const room = lease.add(Math.max(0, bytes - leased))
    if (room) await room
    leased = Math.max(leased, bytes)
    if (content !== null) return content
  }
}

function shareFull(bytes_max: number): ApiError {
  const text = `The requests of your organization that are not answered yet take more than ${bytes_max} bytes, with the files that are read for them, or with their JSON values at ${VALUE_BYTES} bytes each. Wait for answers before you send more.`
  return new ApiError('too_many_requests', text, { retry_after_seconds: RETRY_SECONDS })
}

function tooManyRequests(most: number): ApiError {
  const text = `Your organization has ${most} requests that are not answered yet. Wait for answers before you send more.`
  return new ApiError('too_many_requests', text, { retry_after_seconds: RETRY_SECONDS })
}

function processFull(): ApiError {
  const text = 'The service has too many large requests at once. Try again shortly.'
  return overloaded('memory', text, { retry_after_seconds: RETRY_SECONDS })
}

const RETRY_SECONDS = 5
