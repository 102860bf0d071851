import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Db, Tx } from '../../platform/db/db.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { createKey } from '../keys/api-keys.ts'
import { readEmail } from './email.ts'
import { createMember, createOrganization, newPassword } from './provision.ts'
import { anyOrganization, findOrganization, lockFirstRun } from './store.ts'

/** What the first start made. The password and the key are known nowhere else. */
export type FirstRun = {
  email: string
  password: string
  organization_id: string
  user_id: string
  api_key: string
}

/** How money begins; `billing/ledger.ts` does it, which this folder may not import. */
export type OpenMoney = {
  openAccount(tx: Tx, account: { org_id: string; now: Date }): Promise<void>
  grantCredits(
    tx: Tx,
    grant: { org_id: string; amount: bigint; note: string; user_id: string | null; now: Date },
  ): Promise<unknown>
}

/**
 * On an empty database makes the first organization, its owner, one API key and the opening balance, all or nothing.
 * Null when there is an organization already, also when another process has just made it. Agrees to no terms.
 * `keep` is the last step before the commit: what it cannot write down is not made.
 */
export async function ensureFirstRun(
  deps: {
    db: Kysely<Database>
    config: Pick<Config, 'first_run' | 'default_plan' | 'api_key_prefix'>
    clock: Clock
    keep?: (run: FirstRun) => void
  } & OpenMoney,
): Promise<FirstRun | null> {
  const { db, config, clock } = deps
  if (await anyOrganization(db)) return null
  const { organization: name, balance } = config.first_run
  const email = readEmail(config.first_run.email)
  const { password, password_hash } = await newPassword()
  return db.transaction().execute(async (tx) => {
    await lockFirstRun(tx)
    if (await anyOrganization(tx)) return null
    const now = clock.now()
    const organization_id = await createOrganization(tx, { name, plan: config.default_plan, now })
    const person = { org_id: organization_id, email, name: 'Owner', role: 'owner' as const, password_hash, now }
    const { user_id } = await createMember(tx, person)
    const owner = { org_id: organization_id, user_id, name: 'First run', prefix: config.api_key_prefix, now }
    const { key } = await createKey(tx, owner)
    await deps.openAccount(tx, { org_id: organization_id, now })
    const grant = { org_id: organization_id, amount: balance, note: 'Opening balance', user_id: null, now }
    if (balance > 0n) await deps.grantCredits(tx, grant)
    const run = { email, password, organization_id, user_id, api_key: key }
    deps.keep?.(run)
    return run
  })
}

/**
 * Writes down, before the commit, what `publishFirstRun` makes `first-run.json` of: for the operator's eyes only (mode 0600), on the
 * disk once it returns.
 */
export function draftFirstRun(dataDir: string, run: FirstRun & { base_url: string }): void {
  const { base_url, email, password, organization_id, user_id, api_key } = run
  const file = openSync(draftIn(dataDir), 'w', 0o600)
  try {
    writeSync(file, `${JSON.stringify({ base_url, email, password, organization_id, user_id, api_key }, null, 2)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  failpoint('first_run_written')
}

/** Gives the draft its name, after the commit. Returns the path. */
export function publishFirstRun(dataDir: string): string {
  failpoint('first_run_committed')
  const path = join(dataDir, 'first-run.json')
  renameSync(draftIn(dataDir), path)
  return path
}

/** After a crash: publishes the draft of a first run that was committed, and removes that of one that was not. */
export async function settleFirstRun(db: Db, dataDir: string): Promise<void> {
  const draft = draftIn(dataDir)
  if (!existsSync(draft)) return
  const organization_id = organizationIn(readFileSync(draft, 'utf8'))
  if (organization_id !== null && (await findOrganization(db, organization_id))) publishFirstRun(dataDir)
  else rmSync(draft)
}

function draftIn(dataDir: string): string {
  return join(dataDir, 'first-run.json.new')
}

/** Null for a draft that was cut short: it was never committed. */
function organizationIn(text: string): string | null {
  try {
    return (JSON.parse(text) as FirstRun).organization_id
  } catch {
    return null
  }
}
