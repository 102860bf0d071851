import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'

/** Seeds that once found a fault, by the title of their law: `{ "<title>": [1, 2] }`. They stay, and every run tries them again. */
const CORPUS = new URL('../laws/corpus/seeds.json', import.meta.url)

/**
 * A random test: one run with the seed of the law and one for each of its seeds in the corpus. The seed is the same in every run, so
 * that a newcomer and CI try the same; `KINORA_SEED=random` draws a new one and prints it, `KINORA_SEED=<n>` tries that one alone.
 * A failure prints the seed; add it to `test/laws/corpus/seeds.json` with the fix.
 */
export function law(title: string, body: (seed: number, t: TestContext) => void | Promise<void>): void {
  for (const { seed, origin } of seedsOf(title)) {
    test(origin === 'corpus' ? `law: ${title} (seed ${seed} of the corpus)` : `law: ${title}`, async (t) => {
      if (origin === 'drawn') console.log(`# ${title}: KINORA_SEED=${seed}`)
      try {
        await body(seed, t)
      } catch (error) {
        console.log(`# ${title}: failed, try it again with KINORA_SEED=${seed}`)
        throw error
      }
    })
  }
}

export type Seed = { seed: number; origin: 'fixed' | 'drawn' | 'given' | 'corpus' }

/** The seeds a law is tried with. Throws when `KINORA_SEED` is neither `random` nor an integer from 0 to 2³¹ − 1. */
export function seedsOf(
  title: string,
  { wanted = process.env.KINORA_SEED, corpus = readCorpus() }: { wanted?: string; corpus?: Corpus } = {},
): Seed[] {
  const found = (corpus[title] ?? []).map((seed): Seed => ({ seed, origin: 'corpus' }))
  if (wanted === undefined || wanted === '') return [{ seed: fixedSeed(title), origin: 'fixed' }, ...found]
  if (wanted === 'random') return [{ seed: Math.floor(Math.random() * SEEDS), origin: 'drawn' }, ...found]
  const seed = Number(wanted)
  if (!/^\d+$/.test(wanted) || seed >= SEEDS)
    throw new Error(`KINORA_SEED must be "random" or an integer below 2^31: ${wanted}`)
  return [{ seed, origin: 'given' }]
}

export type Corpus = Readonly<Record<string, readonly number[]>>

export function readCorpus(): Corpus {
  return JSON.parse(readFileSync(CORPUS, 'utf8'))
}

const SEEDS = 2 ** 31

/** FNV-1a of the title: a constant of each law. */
function fixedSeed(title: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(title)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0) % SEEDS
}
