import type pg from 'pg'
import { openFairQueue } from '../fair-queue.ts'
import { turnOwner } from '../turns.ts'

/** Most of the connections that one owner has at a time: its transactions may all wait for one row of its own. */
const SHARE = 0.8

type Release = (error?: Error | boolean) => void
type Done = (error: Error | undefined, client: pg.PoolClient | undefined, release: Release) => void

/**
 * Makes the owners of `takingTurnsAs` take turns at the connections of a pool, where its own line is first come, first served: whoever finds
 * none free waits for at most one turn of each other owner. No owner has all of them, so that others find one free. The service itself, which
 * works for all, has every second turn and no limit. Errors and time limits are those of the pool.
 */
export function shareFairly(pool: pg.Pool): void {
  const connect = pool.connect.bind(pool) as (done: Done) => void
  const { max } = pool.options
  const most = Math.max(1, Math.floor(max * SHARE))
  const waiting = openFairQueue<() => void>()
  /** One for each connection that is in use, or being made for somebody. */
  const uses = new Set<{ owner: string }>()
  let last = ''

  const isService = (owner: string) => owner === ''
  const isBelowShare = (owner: string) =>
    uses.size < most || [...uses].filter((use) => use.owner === owner).length < most
  const mayTakeTurn = (owner: string) => !isService(owner) && isBelowShare(owner)

  const serveNext = () => {
    const next = (!isService(last) && waiting.take(isService)) || waiting.take(mayTakeTurn) || waiting.take(isService)
    if (!next) return
    last = next.owner
    next.item()
  }

  const take = (owner: string, done: Done) => {
    const use = { owner }
    uses.add(use)
    const giveBack = () => {
      uses.delete(use)
      if (waiting.size() > 0) serveNext()
    }
    connect((error, client, release) => {
      if (!client) {
        // A pool that has ended says so at once, to all who wait.
        queueMicrotask(giveBack)
        return done(error, client, release)
      }
      client.release = (problem) => {
        release(problem)
        giveBack()
      }
      done(undefined, client, client.release)
    })
  }

  const wait = (owner: string, done: Done) => {
    let timed_out = false
    const onTurn = () =>
      take(owner, (error, client, release) => {
        if (timed_out) return client?.release()
        clearTimeout(timer)
        done(error, client, release)
      })
    const onTimeout = () => {
      timed_out = true
      waiting.remove(owner, onTurn)
      done(new Error('timeout exceeded when trying to connect'), undefined, () => {})
    }
    const timer = setTimeout(onTimeout, pool.options.connectionTimeoutMillis).unref()
    waiting.add(owner, onTurn)
  }

  const request = (done: Done) => {
    const owner = turnOwner()
    const free = uses.size < max && (isService(owner) || isBelowShare(owner))
    if (free || pool.ending) take(owner, done)
    else wait(owner, done)
  }

  pool.connect = ((done?: Done) => {
    if (done) return request(done)
    return new Promise<pg.PoolClient>((resolve, reject) =>
      request((error, client) => (client ? resolve(client) : reject(error))),
    )
  }) as typeof pool.connect
  Object.defineProperty(pool, 'waitingCount', { get: () => waiting.size() })
}
