import type { Config } from '../../config/config.ts'
import type { Action, Operator } from '../../identity/activity/action.ts'
import type { UserRow } from '../../identity/people/store.ts'
import { findOrganization, findUser, type OrganizationRow } from '../../identity/people/store.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Flags, GivenFlags } from '../flags.ts'
import type { AdminDatabase } from './database.ts'

/** What a command works with. */
export type Admin = AdminDatabase & { config: Config; clock: Clock; actor: Operator }

/** One answer in two forms: an object for `--json`, and rows printed with their columns aligned. */
export type Report = {
  json: Record<string, unknown>
  rows: ReadonlyArray<readonly string[]>
  exit_code?: number
}

type Values = Record<string, string | undefined>

/**
 * `records`: what it writes down of itself; null when it only reads. `run` works beside a running service, on its database of this version;
 * `runAlone` opens what it needs itself. `storage`: whether `run` opens the files too, whose secrets it then needs.
 */
export type Command = { summary: string; flags: Flags; records: Action | null; storage?: boolean } & (
  | { run(admin: Admin, given: Values): Promise<Report> }
  | { runAlone(alone: Pick<Admin, 'config' | 'actor'>, given: Values): Promise<Report> }
)

/** Declares a command whose `run` gets the flags it declared, and no others. */
export function command<const F extends Flags>(spec: {
  summary: string
  flags: F
  records: Action | null
  storage?: boolean
  run(admin: Admin, given: GivenFlags<F>): Promise<Report>
}): Command {
  return spec as unknown as Command
}

/** As `command`, for one that opens what it needs itself: it needs the service stopped, or must not migrate. */
export function aloneCommand<const F extends Flags>(spec: {
  summary: string
  flags: F
  records: Action | null
  runAlone(alone: Pick<Admin, 'config' | 'actor'>, given: GivenFlags<F>): Promise<Report>
}): Command {
  return spec as unknown as Command
}

/** The command cannot be done as asked; one line that names the remedy. Exit code 1. */
export class CommandError extends Error {
  override name = 'CommandError'
}

/** By id or name. Throws CommandError. */
export async function requireOrganization(db: Db, idOrName: string): Promise<OrganizationRow> {
  const found = await findOrganization(db, idOrName)
  if (!found)
    throw new CommandError(`There is no organization ${idOrName}. 'kinora admin org list' shows what there is.`)
  return found
}

/** By id or email. Throws CommandError. */
export async function requireUser(db: Db, idOrEmail: string): Promise<UserRow> {
  const found = await findUser(db, idOrEmail)
  if (!found) throw new CommandError(`There is no person ${idOrEmail}. Add them with 'kinora admin user create'.`)
  return found
}
