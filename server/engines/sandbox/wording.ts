import { createHash } from 'node:crypto'
import { countTokens } from '../../platform/tokenizer.ts'
import { shorten } from './clues.ts'
import { ENGLISH, JAPANESE, type Phrases } from './phrases.ts'
import type { Prompt } from './prompt.ts'

/** Tokens of the answer to `sandbox:long`, at least. */
const LONG_TOKENS = 2000

/** The answer in words: what was asked, what came with it, what a tool said. Every choice of a request is worded differently. */
export function answerText(prompt: Prompt, choice: number): string {
  const phrases = phrasesFor(prompt)
  const variant = variantOf(prompt, choice)
  const sentences = [pick(phrases.openings, variant)]
  if (prompt.results.length > 0) {
    for (const { name, text } of prompt.results.slice(0, 5)) {
      const line = text.replace(/\s+/g, ' ').trim()
      sentences.push(phrases.result(name, shorten(line, 400)))
    }
  } else {
    const quote = prompt.clues.excerpt(160)
    if (quote !== '') sentences.push(pick(phrases.quotings, variant >> 3)(quote))
    if (prompt.media !== null) sentences.push(phrases.received(prompt.media))
    if (prompt.turns > 1) sentences.push(phrases.turn(prompt.turns))
    if (prompt.instructions_words > 0) sentences.push(phrases.instructions(prompt.instructions_words))
  }
  sentences.push(pick(phrases.bodies, variant >> 6), pick(phrases.closings, variant >> 9))
  return sentences.join(phrases.space)
}

/** Numbered paragraphs of at least 2,000 tokens. */
export function longText(prompt: Prompt, choice: number): string {
  const phrases = phrasesFor(prompt)
  const variant = variantOf(prompt, choice)
  const paragraphs = [answerText(prompt, choice)]
  for (let tokens = countTokens(paragraphs[0]!); tokens < LONG_TOKENS; ) {
    const number = paragraphs.length
    const words = [phrases.bodies, phrases.thoughts, phrases.closings].map((pool, i) =>
      pick(pool, variant + number * (i + 1)),
    )
    const paragraph = `\n\n${number}. ${words.join(phrases.space)}`
    paragraphs.push(paragraph)
    tokens += countTokens(paragraph.trimStart())
  }
  return paragraphs.join('')
}

export function refusalText(prompt: Prompt, choice: number): string {
  return pick(phrasesFor(prompt).refusals, variantOf(prompt, choice))
}

/** What the model thinks before it answers: the more effort, the longer. Unknown efforts think as `medium` does. */
export function thoughtsText(prompt: Prompt, effort: string, choice: number): string {
  const phrases = phrasesFor(prompt)
  const variant = variantOf(prompt, choice)
  const count = SENTENCES[effort] ?? SENTENCES.medium!
  const quote = prompt.clues.excerpt(80)
  const thoughts = Array.from({ length: count }, (_, i) => pick(phrases.thoughts, variant + i))
  return [phrases.asked(quote), ...thoughts].join(phrases.space)
}

const SENTENCES: Readonly<Record<string, number>> = { minimal: 1, low: 2, medium: 4, high: 7, xhigh: 10, max: 14 }

function phrasesFor({ clues }: Prompt): Phrases {
  return clues.japanese ? JAPANESE : ENGLISH
}

/** Twelve bits, three for each of four pools: neighbours differ, so up to 4,096 choices do. */
function variantOf({ seed }: Prompt, choice: number): number {
  return (createHash('sha256').update(seed).digest().readUInt32LE(0) + choice) % 4096
}

function pick<T>(pool: readonly T[], variant: number): T {
  return pool[variant % pool.length]!
}
