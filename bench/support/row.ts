import { type Figure, figureOf } from './figure.ts'

/** Whether less is better, or more, or only one value is right. */
export type Better = 'lower' | 'higher' | 'exact'

/** The limit of a figure itself, of figure ÷ yardstick, or of figure − yardstick. A bound from above or below, by the row's `better`. */
export type Budget = { of: 'figure' | 'ratio' | 'difference'; limit: number }

/** What a figure is held against, measured in the same run. `figure` is null when it could not be measured, `missing` says why. */
export type Yardstick = {
  name: string
  figure: Figure | null
  missing: string | null
  /** Medians: figure ÷ yardstick, and figure − yardstick. */
  ratio: number | null
  difference: number | null
  budget: Budget | null
  /** What to know before comparing, as what it does not do. */
  note?: string
  /** Null where there is no budget, or nothing to judge it by. */
  ok: boolean | null
}

/** One measured figure, its budget, and its yardsticks with theirs. */
export type Row = {
  name: string
  unit: string
  better: Better
  figure: Figure | null
  missing: string | null
  budget: Budget | null
  yardsticks: Yardstick[]
  /** False when any budget is missed; null when none could be judged. */
  ok: boolean | null
}

/** Rounds of a figure, or why there are none. */
export type Rounds = readonly number[] | { missing: string }

export type RowFacts = {
  name: string
  unit: string
  rounds: Rounds
  /** `lower` when not given. */
  better?: Better
  limit?: number
  yardsticks?: readonly YardstickFacts[]
}

type YardstickFacts = { name: string; rounds: Rounds; ratio_limit?: number; difference_limit?: number; note?: string }

export function rowOf({ name, unit, rounds, better = 'lower', limit, yardsticks = [] }: RowFacts): Row {
  const measured = measuredOf(rounds)
  const budget: Budget | null = limit === undefined ? null : { of: 'figure', limit }
  const own = budget && measured.figure ? within(measured.figure.median, budget.limit, better) : null
  const compared = yardsticks.map(({ name, rounds, ratio_limit, difference_limit, note }): Yardstick => {
    const other = measuredOf(rounds)
    const both = measured.figure && other.figure ? ([measured.figure.median, other.figure.median] as const) : null
    const ratio = both && both[0] / both[1]
    const difference = both && both[0] - both[1]
    const budget = budgetOf(ratio_limit, difference_limit)
    const judged = budget?.of === 'ratio' ? ratio : difference
    const ok = budget && judged !== null ? within(judged, budget.limit, better) : null
    return { name, ...other, ratio, difference, budget, ...(note !== undefined && { note }), ok }
  })
  return {
    name,
    unit,
    better,
    ...measured,
    budget,
    yardsticks: compared,
    ok: allOf([own, ...compared.map(({ ok }) => ok)]),
  }
}

function measuredOf(rounds: Rounds): { figure: Figure | null; missing: string | null } {
  return 'missing' in rounds ? { figure: null, missing: rounds.missing } : { figure: figureOf(rounds), missing: null }
}

function budgetOf(ratio_limit: number | undefined, difference_limit: number | undefined): Budget | null {
  if (ratio_limit !== undefined) return { of: 'ratio', limit: ratio_limit }
  return difference_limit === undefined ? null : { of: 'difference', limit: difference_limit }
}

function within(value: number, limit: number, better: Better): boolean {
  if (better === 'exact') return value === limit
  return better === 'lower' ? value <= limit : value >= limit
}

function allOf(judged: ReadonlyArray<boolean | null>): boolean | null {
  if (judged.includes(false)) return false
  return judged.includes(true) ? true : null
}
