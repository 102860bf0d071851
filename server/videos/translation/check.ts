import assert from 'node:assert/strict'
import { type Check, describeFailure } from '../../engines/check/check.ts'
import type { TranslationEngine } from '../../engines/translation/contract.ts'
import { countCodePoints } from '../../platform/text.ts'
import { PLAIN } from './prompts/plain.ts'
import { QUOTED } from './prompts/quoted.ts'
import { translatePrompt } from './translate.ts'

/** What a translation engine promises, behind the masking and verification that a prompt meets in the service. */
export const TRANSLATION_CHECKS: ReadonlyArray<Check<TranslationEngine>> = [
  {
    title: 'translates a Japanese prompt with dialogue',
    level: 'must',
    starts: 'a call',
    async run(engine, signal) {
      const { engine_prompt } = await translatePrompt(engine, '猫が窓辺で<d>こんにちは</d>と言う。', signal)
      return engine_prompt
    },
  },
  {
    title: `translates ${japanese().length} prompts faithfully`,
    level: 'should',
    starts: 'a call',
    async run(engine, signal) {
      const prompts = japanese()
      const failed: string[] = []
      await eachOf(prompts, signal, async (prompt) => {
        await translatePrompt(engine, prompt, signal).catch((error: unknown) => {
          failed.push(`${JSON.stringify(prompt)}: ${describeFailure(error)}`)
        })
      })
      assert.equal(
        failed.length,
        0,
        `${failed.length} of ${prompts.length} would fail: ${failed.slice(0, SHOWN).join('; ')}`,
      )
      return `${prompts.length} of ${prompts.length}`
    },
  },
  {
    title: 'translates a prompt as long as clients may send',
    level: 'should',
    starts: 'a call',
    async run(engine, signal) {
      const prompt = longPrompt()
      const { engine_prompt } = await translatePrompt(engine, prompt, signal)
      return `${countCodePoints(prompt)} characters become ${countCodePoints(engine_prompt)}`
    },
  },
]

/** How many prompts are translated at a time, and how many failures are named. */
const AT_ONCE = 4
const SHOWN = 5

/** The prompts of the table that are translated at all. */
function japanese(): string[] {
  const rows = [...PLAIN, ...QUOTED]
  return rows.filter(([decision]) => decision === 'translate').map(([, prompt]) => prompt)
}

/** Lines of the table, up to the 7000 characters of `POST /v1/videos`. */
function longPrompt(): string {
  const lines = PLAIN.flatMap(([decision, prompt]) => (decision === 'translate' ? [prompt] : []))
  let text = ''
  for (let i = 0; text.length + lines[i % lines.length]!.length < 7000; i++) text += `${lines[i % lines.length]}\n`
  return text
}

async function eachOf<T>(items: readonly T[], signal: AbortSignal, work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values()
  const worker = async () => {
    for (const item of waiting) {
      signal.throwIfAborted()
      await work(item)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
