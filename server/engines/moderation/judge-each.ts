import type { ModerationInput, ModerationResult } from './contract.ts'

type Picture = ModerationInput['images'][number]

/**
 * Judges the text with each picture in turn, or alone when there is none, and joins the verdicts. Stops at the first block. When one
 * call throws, this throws: what was not judged is not allowed.
 */
export async function judgeEach(
  { text, images }: ModerationInput,
  judge: (text: string, image: Picture | null) => Promise<ModerationResult>,
): Promise<ModerationResult> {
  const pictures: Array<Picture | null> = images.length === 0 ? [null] : [...images]
  let result: ModerationResult | null = null
  for (let i = 0; i < pictures.length; i += AT_ONCE) {
    const judged = await Promise.all(pictures.slice(i, i + AT_ONCE).map((image) => judge(text, image)))
    result = judged.find(({ verdict }) => verdict !== 'allow') ?? judged[0]!
    if (result.verdict !== 'allow') return result
  }
  return result!
}

/** Calls in flight for one job, so that a job with many pictures does not take the engine for itself. */
const AT_ONCE = 4
