import { CHARGE_GROUPS, type ChargeGroup, type ChargeSums, sumChargesOfAnyOrg } from '../../../billing/store-reports.ts'
import { findOrganizationNames } from '../../../identity/people/store.ts'
import { addSeconds } from '../../../platform/clock.ts'
import { formatMoney } from '../../../platform/money.ts'
import { UsageError } from '../../flags.ts'
import { command } from '../command.ts'
import { FILTERS, readFilters } from '../lists.ts'
import { type Column, tableLines } from './text.ts'
import { readTime, SINCE } from './wanted.ts'

const DAY_SECONDS = 86_400

export const chargedUsage = command({
  records: null,
  summary: 'sum what was used and charged, by organization, model, API key or day, the most expensive first',
  flags: {
    by: { value: '<groups>', help: `Of ${CHARGE_GROUPS.join(', ')}, such as org,model; org by default` },
    since: { value: SINCE.value, help: `${SINCE.help}; 24h by default` },
    until: { value: SINCE.value, help: 'Only before; now by default' },
    org: FILTERS.org,
    limit: FILTERS.limit,
  },
  async run({ db, clock, config: { currency } }, given) {
    const now = clock.now()
    const by = readGroups(given.by)
    const since = readTime('since', given.since, now) ?? addSeconds(now, -DAY_SECONDS)
    const until = readTime('until', given.until, now) ?? now
    const { org_id, limit } = await readFilters({ db }, given)
    const [total, ...found] = await sumChargesOfAnyOrg(db, { by, since, until, org_id, limit })
    const names = await findOrganizationNames(
      db,
      found.flatMap((each) => each.org ?? []),
    )
    const data = found.slice(0, limit).map((sums) => ({ ...groupsOf(sums, by, names), ...viewOf(sums) }))
    const has_more = found.length > limit
    const sum = total ? viewOf(total) : NOTHING
    const lines = tableLines<Shown>([...data, { ...sum, [HEADINGS[by[0]!]]: 'in all' }], columnsOf(by, currency))
    if (has_more) lines.push('… and more, which are part of the sums: --limit, at most 1000')
    const json = { object: 'usage', since, until, currency, data, total: sum, has_more }
    return { json, rows: lines.map((line) => [line]) }
  },
})

function readGroups(text = 'org'): ChargeGroup[] {
  const words = [...new Set(text.split(','))]
  const groups = CHARGE_GROUPS.filter((each) => words.includes(each))
  if (groups.length !== words.length) throw new UsageError(`--by is not a list of ${CHARGE_GROUPS.join(', ')}`)
  return words as ChargeGroup[]
}

/** What a group is called in `--json`, beside the id of an organization. */
const HEADINGS = { org: 'organization', model: 'model', key: 'key_id', day: 'day' } as const

type Groups = Partial<Record<'organization_id' | (typeof HEADINGS)[ChargeGroup], string | null>>
type Shown = Groups & ReturnType<typeof viewOf>

function groupsOf(sums: ChargeSums, by: readonly ChargeGroup[], names: ReadonlyMap<string, string>): Groups {
  const { org, model, key, day } = sums
  return {
    ...(by.includes('org') && { organization_id: org, organization: names.get(org!) ?? org }),
    ...(by.includes('model') && { model }),
    ...(by.includes('key') && { key_id: key }),
    ...(by.includes('day') && { day }),
  }
}

function viewOf(sums: Omit<ChargeSums, ChargeGroup>) {
  const { requests, videos, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, seconds, amount } = sums
  return {
    requests: Number(requests),
    input_tokens: Number(input_tokens),
    cached_input_tokens: Number(cached_input_tokens),
    output_tokens: Number(output_tokens),
    reasoning_tokens: Number(reasoning_tokens),
    videos: Number(videos),
    seconds: Number(seconds),
    amount: formatMoney(amount),
  }
}

const NOTHING = viewOf({
  requests: 0n,
  input_tokens: 0n,
  cached_input_tokens: 0n,
  output_tokens: 0n,
  reasoning_tokens: 0n,
  videos: 0n,
  seconds: 0n,
  amount: 0n,
})

function columnsOf(by: readonly ChargeGroup[], currency: string): Array<Column<Shown>> {
  const number = (name: keyof ReturnType<typeof viewOf>, heading: string = name): Column<Shown> => ({
    heading,
    right: true,
    text: (sums) => String(sums[name]),
  })
  return [
    ...by.map((group) => ({
      heading: HEADINGS[group],
      elastic: true,
      text: (sums: Shown) => sums[HEADINGS[group]] ?? null,
    })),
    number('requests'),
    number('input_tokens', 'input'),
    number('output_tokens', 'output'),
    number('videos'),
    number('seconds'),
    number('amount', currency),
  ]
}
