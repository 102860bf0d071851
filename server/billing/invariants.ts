import { sql } from 'kysely'
import type { Invariant } from '../platform/db/invariant.ts'

/** What is always true of accounts, holds and the ledger. What compares them with jobs is in `videos/`. */
export const billingInvariants: readonly Invariant[] = [
  {
    invariant: 'I1',
    title: "the sum of an organization's ledger entries is its balance",
    broken: () => sql`
      select a.org_id from accounts a left join ledger_entries e using (org_id)
      group by a.org_id, a.balance having a.balance <> coalesce(sum(e.amount), 0)`,
  },
  {
    invariant: 'I1',
    title: 'every organization has an account',
    broken: () => sql`select o.id from organizations o left join accounts a on a.org_id = o.id where a.org_id is null`,
  },
  {
    invariant: 'I2',
    title: 'every charge for a video has its captured hold, and every captured hold its charge',
    broken: () => sql`
      select coalesce(e.job_id, h.job_id) from (select job_id from ledger_entries where kind = 'charge' and job_id is not null) e
      full join (select job_id from holds where state = 'captured') h using (job_id)
      where e.job_id is null or h.job_id is null`,
  },
  {
    invariant: 'I4',
    title: 'held = sum of the placed holds',
    broken: () => sql`
      select a.org_id from accounts a left join holds h on h.org_id = a.org_id and h.state = 'placed'
      group by a.org_id, a.held, a.running having a.held <> coalesce(sum(h.amount), 0) or a.running <> count(h.job_id)`,
  },
  {
    invariant: 'I8',
    title: 'a charge without a job is one for chat: it names its request and its tokens',
    broken: () => sql`
      select id from ledger_entries where kind = 'charge' and job_id is null
        and (num_nulls(request_id, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens) > 0
             or (amount <> 0 and input_tokens + output_tokens = 0))`,
  },
]
