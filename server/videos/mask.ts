/** A prompt with what must not be translated taken out: `text` holds `⟦K0⟧`, `⟦K1⟧` … where `segments` stood. */
export type Masked = { text: string; segments: string[] }

/**
 * Takes dialogue in `<d>` and quoted text, which is depicted in the scene, out of a prompt. A `<d>` that is never closed reaches to the
 * end. A quotation never reaches into dialogue: dialogue is taken out first.
 */
export function maskPrompt(prompt: string): Masked {
  const segments: string[] = []
  const mask = (segment: string) => `⟦K${segments.push(segment) - 1}⟧`
  const text = pieces(prompt)
    .map((piece) => (piece.dialogue ? mask(piece.text) : piece.text.replace(QUOTED, mask)))
    .join('')
  return { text, segments }
}

/** Puts the segments back byte for byte. Every placeholder must stand in `text` exactly once. */
export function unmask(text: string, segments: readonly string[]): string {
  return text.replace(PLACEHOLDER, (_, index) => segments[Number(index)] ?? '')
}

/** What a prompt says outside dialogue and quotations. */
export function withoutPlaceholders(text: string): string {
  return text.replace(PLACEHOLDER, ' ')
}

/** The numbers of the placeholders in a text, in the order in which they stand there. */
export function placeholders(text: string): number[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, index]) => Number(index))
}

/** Every dialogue of a prompt with its tags, and every tag that stands alone, in order. */
export function dialogues(prompt: string): string[] {
  return [...prompt.matchAll(DIALOGUE)].map(([segment]) => segment)
}

/** True when a dialogue tag stands in the text. */
export function hasDialogueTag(text: string): boolean {
  return /<\/?d>/i.test(text)
}

const DIALOGUE = /<d>[\s\S]*?(?:<\/d>|$)|<\/d>/gi
const PLACEHOLDER = /⟦K(\d+)⟧/g

/** Japanese quotation marks, one level nested; ordinary ones within a line. The brackets of the placeholders are taken out with them. */
const QUOTED = /「(?:[^「」]|「[^「」]*」)*」|『(?:[^『』]|『[^『』]*』)*』|"[^"\n]*"|“[^“”]*”|[⟦⟧]/g

function pieces(prompt: string): Array<{ dialogue: boolean; text: string }> {
  const found: Array<{ dialogue: boolean; text: string }> = []
  let end = 0
  for (const match of prompt.matchAll(DIALOGUE)) {
    found.push({ dialogue: false, text: prompt.slice(end, match.index) }, { dialogue: true, text: match[0] })
    end = match.index + match[0].length
  }
  found.push({ dialogue: false, text: prompt.slice(end) })
  return found
}
