import { useSyncExternalStore } from 'react'
import { onSignOut, readStored, store } from '../../api/personal-storage.ts'
import { type Session, useSession, wasSignedIn } from '../../api/session.ts'
import type { VideoRequest } from '../draft/draft.ts'

/** A request that waits in this browser until the plan has a slot for it. */
export type Waiting = {
  /** Its idempotency key: however often it is sent, and by whichever tab, it creates its clips once. */
  key: string
  request: VideoRequest
  /** How many clips it makes, together; absent for one. */
  count?: number
  /** The id of the clip it was made from, if any. */
  made_from?: string | undefined
  /** When it was first sent without an answer that says that it created no job, in milliseconds; null when it was not. */
  sent_at_ms: number | null
  /** Why it was refused other than for want of a slot; it is not sent again by itself. */
  refusal: { status: number; code: string; param: string | null } | null
}

/** One person in one organization. */
export type Account = { user_id: string; organization_id: string }

/** More would be a batch, which the API is for. */
const MOST = 50
const NONE: readonly Waiting[] = []

const listeners = new Set<() => void>()
const read = new Map<string, readonly Waiting[]>()

// Of another tab.
addEventListener('storage', forgetRead)
// Called before what is stored is removed.
onSignOut(() => queueMicrotask(forgetRead))

export function accountOf({ user, organization }: Pick<Session, 'user' | 'organization'>): Account {
  return { user_id: user.id, organization_id: organization.id }
}

export function useAccount(): Account {
  return accountOf(useSession())
}

/** What waits, in the order in which it is sent. */
export function useWaiting(account: Account): readonly Waiting[] {
  return useSyncExternalStore(listen, () => readWaiting(account))
}

export function readWaiting(account: Account): readonly Waiting[] {
  const name = nameOf(account)
  const known = read.get(name)
  if (known) return known
  const stored = readStored(name)
  const list = Array.isArray(stored) ? (stored as Waiting[]).filter(({ key, request }) => key && request) : NONE
  read.set(name, list)
  return list
}

export function clipsOf({ count = 1 }: Pick<Waiting, 'count'>): number {
  return count
}

export function isFull(account: Account): boolean {
  return readWaiting(account).length >= MOST
}

/** Adds a request at the end. Returns whether it was stored: not where there is no room, and not after the person has signed out. */
export function addWaiting(account: Account, added: Omit<Waiting, 'refusal'>): Promise<boolean> {
  return withList(
    account,
    async (change) => wasSignedIn() && !isFull(account) && change((list) => [...list, { ...added, refusal: null }]),
  )
}

/** Removes one that has not been sent meanwhile. */
export function removeWaiting(account: Account, key: string): Promise<unknown> {
  return withList(account, async (change) => change((list) => list.filter((each) => each.key !== key)))
}

/** Puts one before all others, to be sent although it was refused before. */
export function sendFirst(account: Account, key: string): Promise<unknown> {
  return withList(account, async (change) =>
    change((list) => {
      const chosen = list.find((each) => each.key === key)
      if (!chosen) return list
      const sent_at_ms = chosen.refusal ? null : chosen.sent_at_ms
      return [{ ...chosen, sent_at_ms, refusal: null }, ...list.filter((each) => each !== chosen)]
    }),
  )
}

/** Stores what `make` returns for the list that is stored now. Returns whether there was room for it. */
type Change = (make: (list: readonly Waiting[]) => readonly Waiting[]) => boolean

/**
 * Runs `use` while no other tab reads or changes the list: what is sent is in it until there is an answer. `busy` is returned at once where
 * another tab has it; without one the list is waited for. Where the browser has no locks, because the page was not had over https, the tabs
 * send with the same keys.
 */
export async function withList<T>(
  account: Account,
  use: (change: Change) => Promise<T>,
  options: { busy?: T } = {},
): Promise<T> {
  const name = nameOf(account)
  const run = () => {
    read.delete(name)
    return use((make) => {
      // Without locks another tab may have changed it.
      read.delete(name)
      const list = make(readWaiting(account))
      const isStored = store(name, list)
      if (isStored) read.set(name, list)
      for (const listener of listeners) listener()
      return isStored
    })
  }
  if (!('locks' in navigator)) return run()
  const ifAvailable = 'busy' in options
  return (await navigator.locks.request(`kinora.${name}`, { ifAvailable }, (lock) =>
    lock === null ? options.busy! : run(),
  )) as T
}

function nameOf({ user_id, organization_id }: Account): string {
  return `waiting.${user_id}.${organization_id}`
}

function forgetRead(): void {
  read.clear()
  for (const listener of listeners) listener()
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
