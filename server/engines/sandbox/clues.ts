/** What a prompt holds that a value could be made of. Everything is taken from its first 4,000 characters. */
export type Clues = {
  japanese: boolean
  /** The prompt on one line, at most `characters` long. */
  excerpt(characters: number): string
  mentions(word: string): boolean
  numbers: number[]
  year: number
  place: string | undefined
  email: string | undefined
  url: string | undefined
  date: string | undefined
}

const READ_CHARACTERS = 4000

export function cluesOf(prompt: string): Clues {
  const text = prompt.slice(0, READ_CHARACTERS).toWellFormed()
  const line = text.replace(/\s+/g, ' ').trim()
  const lower = text.toLowerCase()
  const date = /\b(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d)\b/.exec(text)?.[0]
  const japanese = isJapanese(text)
  return {
    japanese,
    excerpt: (characters) => shorten(line, characters),
    mentions: (word) => word.length > 1 && lower.includes(word.toLowerCase()),
    numbers: (text.match(/(?<![\w.-])-?\d{1,12}(?:\.\d{1,6})?(?![\w-])/g) ?? []).slice(0, 20).map(Number),
    year: Number(date?.slice(0, 4) ?? 2026),
    place: placeIn(line),
    email: /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/.exec(text)?.[0],
    url: /https?:\/\/[\w.-]{1,200}(?:\/[\w./?=&%-]{0,500})?/.exec(text)?.[0],
    date,
  }
}

/** Whether the text holds kana, which no other language uses. */
export function isJapanese(text: string): boolean {
  return /[\u3041-\u30fa\uff66-\uff9d]/.test(text)
}

/** At most `characters` code points, an ellipsis included where something is missing. */
export function shorten(text: string, characters: number): string {
  const start = [...text.slice(0, characters * 2 + 2)]
  return start.length <= characters
    ? start.join('')
    : `${start
        .slice(0, characters - 1)
        .join('')
        .trimEnd()}…`
}

function placeIn(line: string): string | undefined {
  const known = KNOWN_PLACES.exec(line)?.[0]
  if (known !== undefined) return known
  const named =
    /\b(?:in|at|near|to|from|of|for|around)\s((?:\p{Lu}[\p{L}'’-]{1,30})(?:,?\s\p{Lu}[\p{L}'’-]{0,30}){0,3})/u.exec(
      line,
    )
  return named?.[1] ?? /([\p{Script=Han}ァ-ヶー]{2,10})の(?:天気|気温|時刻|地図)/u.exec(line)?.[1]
}

const KNOWN_PLACES =
  /東京|大阪|京都|札幌|福岡|名古屋|横浜|神戸|沖縄|San Francisco(?:, CA)?|New York(?: City)?|Los Angeles|London|Paris|Berlin|Tokyo|Osaka|Kyoto|Rome|Madrid|Boston|Chicago|Seattle|Sydney|Singapore|Seoul|Beijing/
