/** Most characters of a prompt. */
export const PROMPT_MAX = 7000

/** Characters as the service counts them: code points. */
export function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

const OPEN = '<d>'
const CLOSE = '</d>'

/** Wraps the selection in dialogue tags, or unwraps it. Returns the new text and selection. */
export function toggleDialogue(text: string, from: number, to: number): { text: string; from: number; to: number } {
  const inside = text.slice(from, to)
  if (text.slice(from - OPEN.length, from) === OPEN && text.slice(to, to + CLOSE.length) === CLOSE) {
    const bare = text.slice(0, from - OPEN.length) + inside + text.slice(to + CLOSE.length)
    return { text: bare, from: from - OPEN.length, to: to - OPEN.length }
  }
  const wrapped = text.slice(0, from) + OPEN + inside + CLOSE + text.slice(to)
  return { text: wrapped, from: from + OPEN.length, to: to + OPEN.length }
}

/** The spoken lines of a prompt. */
export function dialogueOf(prompt: string): string[] {
  const lines = [...prompt.matchAll(/<d>([\s\S]*?)<\/d>/g)].map(([, line]) => line!.trim())
  return lines.filter((line) => line !== '')
}

/** A prompt for display: dialogue in quotation marks instead of tags. */
export function readablePrompt(prompt: string): string {
  return prompt.replaceAll(/<d>([\s\S]*?)<\/d>/g, '“$1”')
}
