import { setTimeout as sleep } from 'node:timers/promises'
import type { StartWait } from '../http/startup-listener.ts'
import type { Log } from '../log.ts'
import { asSentence } from '../text.ts'
import { databaseClientOptions, newClient } from './client-options.ts'
import { isDatabaseDown } from './db.ts'

/** How a start waits. `signal` ends it; `answer` has health checks answered meanwhile and returns the port. */
export type Waiting = { signal: AbortSignal; answer(waiting_for: StartWait): Promise<number> }

const PAUSE_MILLISECONDS = 500
/** How often the log says that the start still waits. */
const REMINDER_SECONDS = 30

/**
 * Resolves once the database answers and takes writes, which one that fails over does not. Says at once and then every thirty seconds what
 * it waits for. Throws at once what no waiting fixes: a login that is refused, a database that does not exist.
 */
export async function untilReachable(
  url: string,
  { name, log, waiting }: { name: string; log: Log; waiting: Waiting },
) {
  const since = performance.now()
  for (let reminders = 0; ; ) {
    const reason = await reasonUnusable(url)
    if (reason === null) return
    const seconds = (performance.now() - since) / 1000
    if (reminders === 0 || seconds >= reminders * REMINDER_SECONDS) {
      reminders = Math.floor(seconds / REMINDER_SECONDS) + 1
      const port = await waiting.answer('database')
      log.warn('waiting_for_database', {
        detail:
          `${asSentence(`Cannot use ${name} yet: ${reason}`)} Waited ${Math.round(seconds)} seconds and goes on waiting, until it is stopped. ` +
          `Check its address and that PostgreSQL is running. Meanwhile /healthz and /readyz are answered on port ${port}.`,
      })
    }
    await sleep(PAUSE_MILLISECONDS, undefined, { signal: waiting.signal })
  }
}

/** Why the database cannot be used now; null when it can. */
async function reasonUnusable(url: string): Promise<string | null> {
  const client = newClient({ ...databaseClientOptions(url), connectionTimeoutMillis: 10_000, query_timeout: 10_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ read_only: boolean }>(
      "select pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as read_only",
    )
    return rows[0]!.read_only ? 'it is read-only, as a standby is' : null
  } catch (error) {
    if (!isDatabaseDown(error)) throw error
    const { message, code } = error as Error & { code?: string }
    // Several addresses of one host are one error without a text of its own.
    return message || code || 'no reason was given'
  } finally {
    await client.end().catch(() => {})
  }
}
