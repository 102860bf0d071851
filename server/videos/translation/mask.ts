import { hasJapanese, isJapanese, isJapaneseLetter, LINE_END } from './detect-japanese.ts'

/** A prompt with what must not be translated taken out: `text` holds `⟦K0⟧`, `⟦K1⟧` … where `segments` stood. */
export type Masked = { text: string; segments: string[] }

/**
 * Takes dialogue in `<d>` and quoted text, which is depicted in the scene, out of a prompt. Dialogue goes first, so a quotation never
 * reaches into it. Where nothing but quotations is left, they are the prompt itself and only dialogue is taken out. Linear in the prompt.
 * Source: docs/engines.md, translation.
 */
export function maskPrompt(prompt: string): Masked {
  const dialogue = dialogueSpans(prompt)
  const gaps = gapsBetween(dialogue, prompt.length)
  const quotations = gaps.flatMap((gap) => quotationSpans(prompt, gap))
  const masked = replaceSpans(prompt, dialogue, quotations)
  if (quotations.length === 0 || /\p{Letter}/u.test(withoutPlaceholders(masked.text))) return masked
  return replaceSpans(
    prompt,
    dialogue,
    gaps.flatMap((gap) => bracketSpans(prompt, gap)),
  )
}

/** Whether a prompt is Japanese outside dialogue and quotations. Source: docs/engines.md, translation. */
export function needsTranslation(prompt: string): boolean {
  return isJapanese(withoutPlaceholders(maskPrompt(prompt).text))
}

/** Restores the segments byte for byte. `text` must contain every placeholder exactly once. */
export function unmask(text: string, segments: readonly string[]): string {
  return text.replace(PLACEHOLDER, (_, index) => segments[Number(index)] ?? '')
}

/** The text of a masked prompt outside dialogue and quotations. */
export function withoutPlaceholders(text: string): string {
  return text.replace(PLACEHOLDER, ' ')
}

/** The numbers of the placeholders in a text, in order of appearance. */
export function placeholders(text: string): number[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, index]) => Number(index))
}

/** Every dialogue of a prompt with its tags, and every unpaired tag, in order. */
export function dialoguesOf(prompt: string): string[] {
  return dialogueSpans(prompt).map(([start, end]) => prompt.slice(start, end))
}

export function countDialogueTags(text: string): number {
  return text.match(/<\/?d>/gi)?.length ?? 0
}

const PLACEHOLDER = /⟦K(\d+)⟧/g

/** From the first character to behind the last one. */
type Span = readonly [start: number, end: number]

/** `<d>…</d>`, nested ones to the outer end; a `<d>` that is never closed to the end of its line; an unpaired `</d>` alone. */
function dialogueSpans(prompt: string): Span[] {
  const spans: Span[] = []
  const opened: Array<{ start: number; line: number }> = []
  const lineEnds: number[] = []
  for (const { 0: tag, index } of prompt.matchAll(DIALOGUE_MARK)) {
    if (!tag.startsWith('<')) lineEnds.push(index)
    else if (!tag.startsWith('</')) opened.push({ start: index, line: lineEnds.length })
    else spans.push([opened.pop()?.start ?? index, index + tag.length])
  }
  for (const { start, line } of opened) spans.push([start, lineEnds[line] ?? prompt.length])
  return joinOverlapping(spans)
}

const DIALOGUE_MARK = new RegExp(`</?d>|${LINE_END.source}`, 'giu')

function joinOverlapping(spans: Span[]): Span[] {
  const joined: Span[] = []
  for (const [start, end] of spans.sort(([a], [b]) => a - b)) {
    const last = joined.at(-1)
    if (last && start < last[1]) joined[joined.length - 1] = [last[0], Math.max(last[1], end)]
    else joined.push([start, end])
  }
  return joined
}

function gapsBetween(spans: readonly Span[], length: number): Span[] {
  const starts = [0, ...spans.map(([, end]) => end)]
  return starts.map((start, i) => [start, spans[i]?.[0] ?? length])
}

/** Brackets like those of the placeholders, which a masked text must not contain elsewhere. */
function bracketSpans(prompt: string, [from, to]: Span): Span[] {
  return [...prompt.slice(from, to).matchAll(/[⟦⟧]/g)].map(({ index }) => [from + index, from + index + 1])
}

type Mark = { mark: string; start: number; japaneseBefore: number; close: number | null }

/**
 * Quotations within a part of the prompt: Japanese marks and “…” with what is nested in them, "…" within a line, and ‘…’ and '…' within a
 * line when they contain kana or kanji. Everything inside a quotation is part of it.
 */
function quotationSpans(prompt: string, gap: Span): Span[] {
  const marks = marksOf(prompt, gap)
  matchBrackets(marks)
  matchWithinLines(prompt, marks)
  const spans: Span[] = []
  for (let i = 0; i < marks.length; i++) {
    const { mark, start, close, japaneseBefore } = marks[i]!
    if (/[⟦⟧]/.test(mark)) spans.push([start, start + 1])
    if (close === null) continue
    const end = marks[close]!
    if (/['‘]/.test(mark) && end.japaneseBefore === japaneseBefore) continue
    spans.push([start, end.start + 1])
    i = close
  }
  return spans
}

const QUOTATION_MARK = new RegExp(`[「」『』〝〟“”"'‘’⟦⟧]|${LINE_END.source}`, 'gu')

function marksOf(prompt: string, [from, to]: Span): Mark[] {
  const text = prompt.slice(from, to)
  let [read, japanese] = [0, 0]
  return [...text.matchAll(QUOTATION_MARK)].map(({ 0: mark, index }) => {
    for (const character of text.slice(read, index)) if (isJapaneseLetter(character)) japanese++
    read = index
    return { mark, start: from + index, japaneseBefore: japanese, close: null }
  })
}

/** Marks of a pair with the same kind nested in them. */
function matchBrackets(marks: Mark[]): void {
  const opened: Record<string, number[]> = { '」': [], '』': [], '〟': [], '”': [] }
  for (const [i, { mark }] of marks.entries()) {
    const closing = CLOSING[mark]
    if (closing) opened[closing]!.push(i)
    else if (opened[mark]?.length) marks[opened[mark].pop()!]!.close = i
  }
}

const CLOSING: Readonly<Record<string, string>> = { '「': '」', '『': '』', '〝': '〟', '“': '”' }

/** Marks that look alike or are apostrophes too: each opens up to the next of its kind on its line. */
function matchWithinLines(prompt: string, marks: Mark[]): void {
  let next: Record<string, number | undefined> = {}
  for (let i = marks.length - 1; i >= 0; i--) {
    const { mark, start } = marks[i]!
    if (mark === '‘') marks[i]!.close = next['’'] ?? null
    else if (mark === '"' || (mark === "'" && opens(prompt, start))) marks[i]!.close = next[mark] ?? null
    if (LINE_END.test(mark)) next = {}
    else if (mark === '"' || closes(prompt, start)) next[mark] = i
  }
}

function opens(prompt: string, at: number): boolean {
  return !isWord(prompt[at - 1]) && !isSpace(prompt[at + 1])
}

function closes(prompt: string, at: number): boolean {
  return !isWord(prompt[at + 1]) && !isSpace(prompt[at - 1])
}

function isSpace(character: string | undefined): boolean {
  return character === undefined || /\s/u.test(character)
}

/** Beside a letter of an alphabet or a digit a mark is an apostrophe: it’s, '90s. */
function isWord(character: string | undefined): boolean {
  return character !== undefined && /[\p{Letter}\d]/u.test(character) && !hasJapanese(character)
}

function replaceSpans(prompt: string, ...lists: ReadonlyArray<readonly Span[]>): Masked {
  const segments: string[] = []
  let [text, from] = ['', 0]
  for (const [start, end] of lists.flat().sort(([a], [b]) => a - b)) {
    text += `${prompt.slice(from, start)}⟦K${segments.push(prompt.slice(start, end)) - 1}⟧`
    from = end
  }
  return { text: text + prompt.slice(from), segments }
}
