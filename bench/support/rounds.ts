/** `BENCH_QUICK=1`: a small part of the work, to see that a benchmark runs. Its figures say nothing. */
export const QUICK = process.env.BENCH_QUICK === '1'

/** Compilers take their time: until about then an answer costs up to twice as much. Every server is asked as often before its first round. */
export const WARM = amountOf(20_000)

/** Rounds of every figure that says nothing else. */
export const ROUNDS = QUICK ? 2 : 7

/** So much work, or a fiftieth of it in a quick run. */
export function amountOf(amount: number): number {
  return QUICK ? Math.ceil(amount / 50) : amount
}

type Contenders = Record<string, ((count: number) => Promise<unknown>) | null>
type Rounds<All extends Contenders> = { [Name in keyof All]: Array<Awaited<ReturnType<NonNullable<All[Name]>>>> }

/**
 * Warms up every contender, then measures each in turn, round after round, so that what disturbs the machine disturbs them alike. Each is
 * called with how many pieces of work to do. One that is null has no rounds.
 */
export async function alternate<All extends Contenders>(
  contenders: All,
  { warm = WARM, count }: { warm?: number; count: number },
): Promise<Rounds<All>> {
  const present = Object.entries(contenders).flatMap(([name, measure]) => (measure ? [{ name, measure }] : []))
  const rounds: Record<string, unknown[]> = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]))
  if (warm > 0) for (const { measure } of present) await measure(warm)
  for (let round = 0; round < ROUNDS; round++)
    for (const { name, measure } of present) rounds[name]!.push(await measure(count))
  return rounds as Rounds<All>
}
