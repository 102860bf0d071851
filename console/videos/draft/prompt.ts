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

/** The beginning of a prompt for display, of at most `characters`, with an ellipsis where it goes on. */
export function beginningOf(prompt: string, characters: number): string {
  const text = Array.from(readablePrompt(prompt.trim()).slice(0, 2 * characters + 2))
  return text.length <= characters
    ? text.join('')
    : `${text
        .slice(0, characters - 1)
        .join('')
        .trimEnd()}…`
}

/**
 * A proposed prompt with the dialogue of the original put back, byte for byte. Null when it has more or fewer dialogues, so that it is not
 * known which is which; when it is empty, too long, or what the original is already.
 */
export function keepDialogue(original: string, proposed: string): string | null {
  const spoken = original.match(DIALOGUE) ?? []
  const trimmed = proposed.trim()
  if ((trimmed.match(DIALOGUE) ?? []).length !== spoken.length || unpairedTag(trimmed) !== null) return null
  let at = 0
  const text = trimmed.replaceAll(DIALOGUE, () => spoken[at++]!)
  return text === '' || text === original.trim() || countCharacters(text) > PROMPT_MAX ? null : text
}

const DIALOGUE = /<d>[\s\S]*?<\/d>/gi

/** What a prompt calls the file at this place of a kind, from 1. Source: docs/api/videos.md, references. */
const NAMES = { images: 'Picture', videos: 'Video', audio: 'Audio' } as const
export type NamedSlot = keyof typeof NAMES

export function referenceName(slot: NamedSlot, at: number): string {
  return `<${NAMES[slot]} ${at + 1}>`
}

/** The names in a prompt that no file has, each once, as they are written. */
export function missingNames(prompt: string, files: Readonly<Record<NamedSlot, readonly unknown[]>>): string[] {
  const known = new Set(
    (['images', 'videos', 'audio'] as const).flatMap((slot) => files[slot].map((_, at) => referenceName(slot, at))),
  )
  return [...new Set(prompt.match(/<(?:Picture|Video|Audio) \d+>/g))].filter((name) => !known.has(name))
}

/** The first dialogue tag without its other half, and where it stands; null where all are paired. */
export function unpairedTag(prompt: string): { tag: 'unclosed' | 'unopened'; from: number; to: number } | null {
  const opened: Array<{ from: number; to: number }> = []
  for (const { 0: tag, index } of prompt.matchAll(/<\/?d>/gi)) {
    const place = { from: index, to: index + tag.length }
    if (!tag.startsWith('</')) opened.push(place)
    else if (!opened.pop()) return { tag: 'unopened', ...place }
  }
  return opened[0] ? { tag: 'unclosed', ...opened[0] } : null
}
