import { BALANCE_TOPIC } from '../../billing/balance-changes.ts'
import { grantCredits } from '../../billing/ledger.ts'
import { findAccount } from '../../billing/store.ts'
import { recordActivity } from '../../identity/activity/activity.ts'
import { openGroups } from '../../platform/db/groups.ts'
import { silentLog } from '../../platform/log.ts'
import { openMetrics } from '../../platform/metrics/metrics.ts'
import { formatMoney } from '../../platform/money.ts'
import { cancelJob } from '../../videos/pipeline/cancel.ts'
import { findJobOfAnyOrg } from '../../videos/store.ts'
import { UsageError } from '../flags.ts'
import { withChanges } from './changes.ts'
import { CommandError, command, requireOrganization } from './command.ts'
import { readAmount, rowsOf } from './people.ts'

export const creditsGrant = command({
  records: 'credits.grant',
  summary: 'add to the balance of an organization, or take off with --amount=-5.00; a --note is required',
  flags: {
    org: { value: '<id or name>', help: 'The organization', required: true },
    amount: { value: '<amount>', help: 'Such as 25.00', required: true },
    note: { value: '<text>', help: 'The reason, shown in the ledger', required: true },
  },
  async run({ db, clock, url, actor }, given) {
    const amount = readAmount('amount', given.amount)
    if (amount === 0n) throw new UsageError('--amount is zero')
    const { id: org_id, name } = await requireOrganization(db, given.org)
    const grant = { org_id, amount, note: given.note, user_id: null, now: clock.now() }
    const id = await withChanges({ db, url }, async (changes) => {
      const granted = await db.transaction().execute(async (tx) => {
        const entry_id = await grantCredits(tx, grant)
        const details = { amount: formatMoney(amount), note: given.note }
        await recordActivity(tx, { actor, action: 'credits.grant', org_id, target: entry_id, details, now: grant.now })
        return entry_id
      })
      changes.announce(BALANCE_TOPIC, org_id)
      return granted
    })
    const balance = (await findAccount(db, org_id))?.balance ?? 0n
    const json = {
      id,
      organization_id: org_id,
      amount: formatMoney(amount),
      note: given.note,
      balance: formatMoney(balance),
    }
    return { json, rows: rowsOf({ ...json, organization: name }) }
  },
})

export const jobCancel = command({
  records: 'video.cancel',
  summary: 'cancel a video job and release what was set aside for it',
  flags: { id: { value: '<video_...>', help: 'The job', required: true } },
  async run({ db, clock, url, actor }, { id }) {
    const job = await findJobOfAnyOrg(db, id)
    if (!job) throw new CommandError(`There is no job ${id}.`)
    const parts = { db, clock, log: silentLog, groups: openGroups(), metrics: openMetrics(), tracing: null }
    const { status } = await withChanges({ db, url }, (changes) =>
      cancelJob({ ...parts, changes }, { org_id: job.org_id, id, by: actor }),
    )
    return { json: { id, status }, rows: rowsOf({ id, status }) }
  },
})

export const audit = command({
  records: 'audit.run',
  summary: 'check every invariant that SQL can check; exit code 1 on any violation',
  flags: {},
  async run({ db, clock, actor }) {
    const { runAudit, recordAudit } = await import('../../audit/audit.ts')
    const now = clock.now()
    const invariants = await runAudit(db, now)
    await recordAudit(db, invariants, now)
    const violations = invariants.reduce((sum, each) => sum + each.violations, 0)
    const deed = { actor, action: 'audit.run', org_id: null, target: null, details: { violations }, now } as const
    await db.transaction().execute((tx) => recordActivity(tx, deed))
    const rows = invariants.map((each) => [`${each.invariant}  ${each.violations}`, each.title] as const)
    return { json: { violations, invariants }, rows, exit_code: violations > 0 ? 1 : 0 }
  },
})
