/** Words on the screen from `start_seconds` to `end_seconds`, fades included. */
export type Caption = { kind: 'caption' | 'subtitle'; text: string; start_seconds: number; end_seconds: number }

/** Shortest time for one caption, and the most captions in one clip: more of them would be too brief to read. */
const CAPTION_SECONDS_MIN = 2
const CAPTIONS_MAX = 4
const SUBTITLE_SECONDS_MIN = 1.6

/** The only caption of a long clip disappears after the time needed to read it twice. */
const STAY_SECONDS_MIN = 3.2
const STAY_UNITS_PER_SECOND = 9

/** Reading speed: units a second, where a Latin letter is one unit and a Han or kana character two. */
const UNITS_PER_SECOND = 28
const CAPTION_UNITS_MAX = 110
const SUBTITLE_UNITS_MAX = 84

/**
 * Breaks a prompt into captions and its `<d>…</d>` dialogue into subtitles, each short enough to be read while it is shown.
 * A prompt longer than the time allows is shown in extracts spread from its beginning to its end, each cut marked with `…`.
 * `margin_seconds` is left free of words at both ends.
 */
export function captionsOf(prompt: string, seconds: number, margin_seconds: number): Caption[] {
  const { narration, dialogue } = separate(prompt)
  return [
    ...arrange('caption', sentencesOf(narration), {
      seconds,
      margin_seconds,
      shortest: Math.max(CAPTION_SECONDS_MIN, seconds / (CAPTIONS_MAX + 1)),
      units_max: CAPTION_UNITS_MAX,
    }),
    ...arrange('subtitle', dialogue, {
      seconds,
      margin_seconds,
      shortest: SUBTITLE_SECONDS_MIN,
      units_max: SUBTITLE_UNITS_MAX,
    }),
  ]
}

/** An unclosed `<d>` runs to the end. */
function separate(prompt: string): { narration: string; dialogue: string[] } {
  const dialogue: string[] = []
  const narration = prompt.replace(/<d>([\s\S]*?)(?:<\/d>|$)/g, (_, spoken: string) => {
    const line = tidy(spoken)
    if (line !== '') dialogue.push(line)
    return ' … '
  })
  return { narration, dialogue }
}

/** One line of drawable text: pictographs are dropped because the font has none. */
function tidy(text: string): string {
  return text
    .replace(/\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u200d|\ufe0e|\ufe0f|\p{Cc}|\p{Cs}|\p{Co}/gu, (mark) =>
      /[©®™]/.test(mark) ? mark : ' ',
    )
    .replace(/\s+/g, ' ')
    .trim()
}

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Sentences, and the lines and list items of longer prompts; fragments without a letter or digit are appended to the sentence before. */
function sentencesOf(text: string): string[] {
  const sentences: string[] = []
  for (const line of text.split(/\n+/)) {
    for (const { segment } of SENTENCES.segment(line)) {
      const sentence = tidy(segment)
        .replace(/^[-*•#>…\s]+/, '')
        .replace(/(?<=[.!?。！？”」])\s*…$/u, '')
      if (/[\p{L}\p{N}]/u.test(sentence)) sentences.push(sentence)
      else if (sentence !== '' && sentences.length > 0) sentences[sentences.length - 1] += sentence
    }
  }
  return sentences
}

type Room = { seconds: number; margin_seconds: number; shortest: number; units_max: number }

function arrange(kind: Caption['kind'], lines: readonly string[], room: Room): Caption[] {
  const open = room.seconds - 2 * room.margin_seconds
  const slots = Math.max(1, Math.floor(open / room.shortest))
  const readable = Math.min(room.units_max, (open / slots) * UNITS_PER_SECOND)
  const parts = lines.flatMap((line) => pack(line, readable))
  const chosen = kind === 'caption' ? spread(join(parts, readable, slots), slots) : spread(parts, slots)
  const longest = Math.min(room.units_max, (open / Math.max(1, chosen.length)) * UNITS_PER_SECOND)
  const shown = open / Math.max(1, chosen.length)
  return chosen.map((text, index) => ({
    kind,
    text: shorten(text, longest).replace(/[,;:、，；：]$/u, '…'),
    start_seconds: room.margin_seconds + index * shown,
    end_seconds:
      room.margin_seconds +
      index * shown +
      Math.min(shown, Math.max(STAY_SECONDS_MIN, unitsOf(text) / STAY_UNITS_PER_SECOND)),
  }))
}

/** A long sentence becomes several parts, cut at clauses where it has them. */
function pack(sentence: string, units_max: number): string[] {
  if (unitsOf(sentence) <= units_max) return [sentence]
  const clauses = sentence.split(/(?<=[,;:、，；：—])\s*/u)
  const parts: string[] = []
  for (const clause of clauses) {
    const joined = parts.length > 0 ? glue(parts.at(-1)!, clause) : clause
    if (parts.length > 0 && unitsOf(joined) <= units_max) parts[parts.length - 1] = joined
    else parts.push(clause)
  }
  return parts
}

/** Short neighbors share a caption while there are more parts than slots. */
function join(parts: readonly string[], units_max: number, slots: number): string[] {
  if (parts.length <= slots) return [...parts]
  const joined: string[] = []
  for (const part of parts) {
    const both = joined.length > 0 ? glue(joined.at(-1)!, part) : part
    if (joined.length > 0 && unitsOf(both) <= units_max) joined[joined.length - 1] = both
    else joined.push(part)
  }
  return joined
}

/** At most `slots` parts, the first and the last among them, evenly spread. */
function spread(parts: readonly string[], slots: number): string[] {
  if (parts.length <= slots) return [...parts]
  if (slots === 1) return [parts[0]!]
  return Array.from({ length: slots }, (_, index) => parts[Math.round((index * (parts.length - 1)) / (slots - 1))]!)
}

/** Cuts at a word, or between characters where words have no spaces. */
function shorten(text: string, units_max: number): string {
  if (unitsOf(text) <= units_max) return text
  let kept = ''
  for (const character of text) {
    if (unitsOf(kept + character) > units_max - 2) break
    kept += character
  }
  const atWord = kept.replace(/\s+\S*$/, '')
  return `${(unitsOf(atWord) > units_max * 0.6 ? atWord : kept).replace(/[\s,;:、，.。]+$/u, '')}…`
}

function glue(left: string, right: string): string {
  return /[\u3000-\u9fff\uff00-\uffef]$/u.test(left) ? left + right : `${left} ${right}`
}

/** A Latin letter counts 1, a full-width character 2. */
export function unitsOf(text: string): number {
  let units = 0
  for (const character of text) units += character.codePointAt(0)! >= 0x2e80 ? 2 : 1
  return units
}
