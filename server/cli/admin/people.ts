import { grantCredits, openAccount } from '../../billing/ledger.ts'
import { findAccount } from '../../billing/store.ts'
import type { Config } from '../../config/config.ts'
import type { Operator } from '../../identity/activity/action.ts'
import { recordActivity } from '../../identity/activity/activity.ts'
import type { Role } from '../../identity/caller/principal.ts'
import { createKeyBy } from '../../identity/keys/api-keys.ts'
import { findKeyOrganization, revokeKey } from '../../identity/keys/store.ts'
import { PASSWORD_LENGTH } from '../../identity/login/library.ts'
import { createMember, createOrganization, newPassword } from '../../identity/people/provision.ts'
import {
  findOrganizationCalled,
  isOrganizationNameTaken,
  organizationsOf,
  replacePassword,
  updatePlan,
} from '../../identity/people/store.ts'
import { recordEnded } from '../../identity/people/unverified.ts'
import { deleteTwoFactor } from '../../identity/two-factor/store.ts'
import type { Db, Tx } from '../../platform/db/db.ts'
import { formatMoney, parseMoney } from '../../platform/money.ts'
import { countCodePoints } from '../../platform/text.ts'
import { UsageError } from '../flags.ts'
import { type Admin, CommandError, command, requireOrganization, requireUser } from './command.ts'

const ORG = { value: '<id or name>', help: 'The organization', required: true } as const
const USER = { value: '<id or email>', help: 'The person', required: true } as const

export const orgCreate = command({
  records: 'organization.create',
  summary: 'make an organization',
  flags: {
    name: { value: '<name>', help: 'What it is called', required: true },
    plan: { value: '<plan>', help: "A plan of the configuration; the file's first by default" },
    balance: { value: '<amount>', help: 'Opening balance, such as 100.00; 0 by default' },
  },
  async run({ db, clock, config, actor }, given) {
    const { name } = given
    if (countCodePoints(name) > NAME_MAX) throw new UsageError(`--name has more than ${NAME_MAX} characters`)
    const plan = requirePlan(config, given.plan ?? config.default_plan)
    const balance = readAmount('balance', given.balance ?? '0')
    if (balance < 0n) throw new UsageError('--balance is below zero')
    const now = clock.now()
    const create = async (tx: Tx) => {
      const org_id = await createOrganization(tx, { name, plan, now })
      await openAccount(tx, { org_id })
      const grant = { org_id, amount: balance, note: 'Opening balance', user_id: null, now }
      if (balance > 0n) await grantCredits(tx, grant)
      const details = { name, plan, balance: formatMoney(balance) }
      await recordActivity(tx, { actor, action: 'organization.create', org_id, target: org_id, details, now })
      return org_id
    }
    const id = await db.transaction().execute(create).catch(nameTaken(db, name))
    const json = { id, name, plan, balance: formatMoney(balance) }
    return { json, rows: rowsOf(json) }
  },
})

export const userCreate = command({
  records: 'member.add',
  summary:
    'add a person to an organization; of an address that nobody has verified the password is replaced, and API keys and invitations end',
  flags: {
    email: { value: '<email>', help: 'What they sign in with', required: true },
    org: ORG,
    role: { value: 'owner|admin|member', help: 'member by default' },
    name: { value: '<name>', help: 'What they are called; the part before the @ by default' },
    password: { value: '<text>', help: 'Generated and printed once by default' },
  },
  async run({ db, clock, actor }, given) {
    const { email } = given
    const role = readRole(given.role ?? 'member')
    requirePasswordLength(given.password)
    const { id: org_id } = await requireOrganization(db, given.org)
    const { password, password_hash } = await newPassword(given.password)
    const name = given.name ?? email.split('@', 1)[0]!
    const person = { org_id, email, name, role, password_hash, now: clock.now() }
    const { user_id, created, password_reset } = await db.transaction().execute(async (tx) => {
      const made = await createMember(tx, person)
      const details = { email: email.toLowerCase(), role }
      await recordActivity(tx, { actor, action: 'member.add', org_id, target: made.user_id, details, now: person.now })
      if (made.password_reset)
        await recordReset(tx, { actor, action: 'person.password_reset', user_id: made.user_id, now: person.now })
      if (made.ended) await recordEnded(tx, made.ended, { actor, now: person.now })
      return made
    })
    const json = {
      id: user_id,
      email: email.toLowerCase(),
      organization_id: org_id,
      role,
      created,
      password_reset,
      ...((created || password_reset) && given.password === undefined && { password }),
    }
    if (created) return { json, rows: rowsOf(json) }
    const note = password_reset
      ? 'was there already, but nobody had verified the address: the password is replaced, the second factor taken off, every session ended, every API key and invitation revoked'
      : 'was there already; name and password are unchanged'
    return { json, rows: rowsOf({ ...json, note }) }
  },
})

export const userResetPassword = command({
  records: 'person.password_reset',
  summary: 'replace a forgotten password; every session of the person ends',
  flags: { user: USER, password: { value: '<text>', help: 'Generated and printed once by default' } },
  async run({ db, clock, actor }, given) {
    requirePasswordLength(given.password)
    const { id, email } = await requireUser(db, given.user)
    const { password, password_hash } = await newPassword(given.password)
    const change = { user_id: id, password_hash, now: clock.now() }
    await db.transaction().execute(async (tx) => {
      await replacePassword(tx, change)
      await recordReset(tx, { actor, action: 'person.password_reset', ...change })
    })
    const json = { id, email, ...(given.password === undefined && { password }) }
    return { json, rows: rowsOf(json) }
  },
})

export const userResetTwoFactor = command({
  records: 'person.two_factor_reset',
  summary: 'take off a second factor whose device and recovery codes are lost; every session of the person ends',
  flags: { user: USER },
  async run({ db, clock, actor }, given) {
    const { id, email } = await requireUser(db, given.user)
    await db.transaction().execute(async (tx) => {
      if (!(await deleteTwoFactor(tx, id))) throw new CommandError(`${email} has no second factor.`)
      await recordReset(tx, { actor, action: 'person.two_factor_reset', user_id: id, now: clock.now() })
    })
    const json = { id, email, two_factor: false }
    return { json, rows: rowsOf(json) }
  },
})

export const keyCreate = command({
  records: 'api_key.create',
  summary: 'make an API key; it is printed once',
  flags: {
    user: USER,
    org: { ...ORG, required: false, help: "The organization; may be left out when it is the person's only one" },
    name: { value: '<name>', help: 'What it is for', required: true },
  },
  async run({ db, clock, config, actor }, given) {
    const user = await requireUser(db, given.user)
    const org_id = await organizationOf({ db }, user, given.org)
    const owner = { org_id, user_id: user.id, name: given.name, prefix: config.api_key_prefix, now: clock.now() }
    const { id, key, hint, name } = await createKeyBy(db, { actor }, owner)
    const json = { id, key, hint, name, user_id: user.id, organization_id: org_id }
    return { json, rows: rowsOf(json) }
  },
})

export const keyRevoke = command({
  records: 'api_key.revoke',
  summary: 'revoke an API key for good, within five seconds everywhere',
  flags: { id: { value: '<key_...>', help: "The key's id, not the key", required: true } },
  async run({ db, clock, actor }, { id }) {
    const org_id = await findKeyOrganization(db, id)
    const now = clock.now()
    const revoked = await db.transaction().execute(async (tx) => {
      if (org_id === null || !(await revokeKey(tx, { org_id, user_id: null, id, now }))) return false
      await recordActivity(tx, { actor, action: 'api_key.revoke', org_id, target: id, now })
      return true
    })
    if (!revoked) throw new CommandError(`There is no good key ${id}. 'kinora admin key list' shows what there is.`)
    return { json: { id, revoked: true }, rows: [['revoked', id]] }
  },
})

export const planSet = command({
  records: 'organization.plan',
  summary: 'put an organization on another plan',
  flags: { org: ORG, plan: { value: '<plan>', help: 'A plan of the configuration', required: true } },
  async run({ db, clock, config, actor }, given) {
    const plan = requirePlan(config, given.plan)
    const { id, name, plan: from } = await requireOrganization(db, given.org)
    await db.transaction().execute(async (tx) => {
      await updatePlan(tx, { org_id: id, plan })
      const details = { from, to: plan }
      await recordActivity(tx, {
        actor,
        action: 'organization.plan',
        org_id: id,
        target: id,
        details,
        now: clock.now(),
      })
    })
    const balance = (await findAccount(db, id))?.balance ?? 0n
    const json = { id, name, plan, balance: formatMoney(balance) }
    return { json, rows: rowsOf(json) }
  },
})

/** One entry in each organization of the person, so that all of their owners see it. */
async function recordReset(
  tx: Tx,
  reset: { actor: Operator; action: 'person.password_reset' | 'person.two_factor_reset'; user_id: string; now: Date },
): Promise<void> {
  const { actor, action, user_id: target, now } = reset
  const organizations = await organizationsOf(tx, target)
  const ids = organizations.length === 0 ? [null] : organizations.map(({ id }) => id)
  for (const org_id of ids) await recordActivity(tx, { actor, action, org_id, target, now })
}

const NAME_MAX = 100

function nameTaken(db: Db, name: string): (error: unknown) => Promise<never> {
  return async (error) => {
    if (!isOrganizationNameTaken(error)) throw error
    const other = await findOrganizationCalled(db, name)
    throw new CommandError(`There is an organization ${other?.name} already: ${other?.id}. Choose another name.`)
  }
}

/** Units of 10⁻⁸. Throws UsageError. */
export function readAmount(flag: string, text: string): bigint {
  const amount = parseMoney(text)
  if (amount === null) throw new UsageError(`--${flag} is not an amount such as 12.50, with at most 8 decimals`)
  return amount
}

export function rowsOf(json: Record<string, unknown>): Array<readonly [string, string]> {
  return Object.entries(json).map(([name, value]) => [name, String(value)] as const)
}

function requirePlan(config: Config, plan: string): string {
  if (config.plans.has(plan)) return plan
  throw new CommandError(`There is no plan ${plan}. The configuration has ${[...config.plans.keys()].join(', ')}.`)
}

function readRole(text: string): Role {
  if (text === 'owner' || text === 'admin' || text === 'member') return text
  throw new UsageError('--role is none of owner, admin, member')
}

function requirePasswordLength(password: string | undefined): void {
  const { min, max } = PASSWORD_LENGTH
  if (password === undefined || (password.length >= min && password.length <= max)) return
  throw new UsageError(`--password has fewer than ${min} or more than ${max} characters`)
}

async function organizationOf(
  { db }: Pick<Admin, 'db'>,
  user: { id: string; email: string },
  asked: string | undefined,
): Promise<string> {
  const theirs = await organizationsOf(db, user.id)
  const wanted = asked === undefined ? null : (await requireOrganization(db, asked)).id
  if (wanted === null && theirs.length === 1) return theirs[0]!.id
  if (wanted === null)
    throw new CommandError(`${user.email} is in ${theirs.length} organizations. Name one with --org.`)
  if (theirs.some(({ id }) => id === wanted)) return wanted
  throw new CommandError(`${user.email} is not a member of ${asked}. Add them with 'kinora admin user create'.`)
}
