import { type Changes, openChanges } from '../../platform/db/changes.ts'
import { CommandError } from './command.ts'
import type { AdminDatabase } from './database.ts'

/**
 * Runs `work`, which announces what it changes to the running service. Throws CommandError, before it begins, when the database gives no
 * connection for that: a command does not wait.
 */
export async function withChanges<T>(
  { db, url }: Pick<AdminDatabase, 'db' | 'url'>,
  work: (changes: Changes) => Promise<T>,
): Promise<T> {
  const refused = new AbortController()
  const on_error = (error: unknown) => refused.abort(refusalOf(error as Error))
  const changes = await openChanges({ db, url, on_error, signal: refused.signal })
  try {
    return await work(changes)
  } finally {
    await changes.close()
  }
}

function refusalOf({ message }: Error): CommandError {
  return new CommandError(
    `The database gives no further connection (${message}). Nothing was changed: try again shortly.`,
  )
}
