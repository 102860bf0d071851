import type { Chance } from '../storyboard/chance.ts'
import type { Clues } from './clues.ts'
import { textMatching } from './pattern.ts'
import { numberOf } from './schema-view.ts'

type Wish = { name: string; variation: number; clues: Clues; chance: Chance }

/** Characters of a text whose schema asks for more. */
const CHARACTERS_MAX = 4096

/** A text of the format, pattern and length asked for; without them one that the member's name suggests. */
export function stringFor(keywords: Readonly<Record<string, unknown>>, wish: Wish): string {
  const least = Math.min(numberOf(keywords.minLength) ?? 0, CHARACTERS_MAX)
  const most = numberOf(keywords.maxLength) ?? Infinity
  if (typeof keywords.pattern === 'string') {
    const text = matching(keywords.pattern, { least, most }, wish)
    if (text !== null) return text
  }
  const formatted = typeof keywords.format === 'string' ? formattedText(keywords.format, wish) : undefined
  if (formatted !== undefined) return formatted
  const text = suggested(wish)
  return fit(wish.variation === 0 ? text : `${text} ${wish.variation + 1}`, least, most, wish.variation)
}

/** Lengthens or shortens the repetitions of a pattern until the length is right, or as near as it gets. */
function matching(pattern: string, { least, most }: { least: number; most: number }, wish: Wish): string | null {
  let nearest: string | null = null
  for (const growth of [2, 1, 0, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597, 2584]) {
    for (let shift = 0; shift < 2; shift++) {
      const pick = (count: number) => (Math.floor(wish.chance.between(0, count)) + wish.variation + shift) % count
      const text = textMatching(pattern, growth, pick)
      if (text === null) break
      const length = [...text].length
      if (length >= least && length <= most) return text
      nearest ??= text
    }
  }
  return nearest
}

/** Padding and cutting by code points, as JSON Schema counts; what tells variations apart stays. */
function fit(text: string, least: number, most: number, variation: number): string {
  let characters = [...text]
  if (characters.length > most) {
    const mark = variation === 0 ? '' : String(variation)
    characters = [...characters.slice(0, Math.max(0, most - mark.length)), ...mark].slice(0, most)
  }
  while (characters.length < least) characters.push(PADDING[characters.length % PADDING.length]!)
  return characters.join('')
}

const PADDING = ' sandbox'

function formattedText(format: string, { clues, chance, variation }: Wish): string | undefined {
  const number = 1 + variation + Math.floor(chance.between(0, 90))
  const two = (most: number) => String(1 + (number % most)).padStart(2, '0')
  const hex = () => Math.floor(chance.between(0, 65536)).toString(16).padStart(4, '0')
  const host = variation === 0 ? 'example.com' : `host-${number}.example.com`
  const date = variation === 0 && clues.date !== undefined ? clues.date : `${clues.year}-${two(12)}-${two(28)}`
  switch (format) {
    case 'date':
      return date
    case 'time':
      return `${two(23)}:${two(59)}:00Z`
    case 'date-time':
      return `${date}T${two(23)}:${two(59)}:00Z`
    case 'duration':
      return `PT${number}M`
    case 'email':
    case 'idn-email':
      return variation === 0 && clues.email !== undefined ? clues.email : `person${number}@example.com`
    case 'hostname':
    case 'idn-hostname':
      return host
    case 'ipv4':
      return `192.0.2.${number}`
    case 'ipv6':
      return `2001:db8::${number.toString(16)}`
    case 'uri':
    case 'url':
    case 'iri':
    case 'uri-reference':
    case 'iri-reference':
      return variation === 0 && clues.url !== undefined ? clues.url : `https://${host}/${number}`
    case 'uri-template':
      return `https://${host}/{id}`
    case 'uuid':
      return `${hex()}${hex()}-${hex()}-4${hex().slice(1)}-8${hex().slice(1)}-${hex()}${hex()}${hex()}`
    case 'json-pointer':
      return `/${number}`
    case 'relative-json-pointer':
      return `${number}/name`
    case 'regex':
      return '^[a-z]+$'
    case 'byte':
    case 'binary':
    case 'base64':
      return Buffer.from(`sandbox ${number}`).toString('base64')
    default:
      return undefined
  }
}

const SUGGESTIONS: ReadonlyArray<[RegExp, (wish: Wish) => string | undefined]> = [
  [/e.?mail/, (wish) => formattedText('email', wish)],
  [/(^|_)(ur[il]|link|href|website)s?$/, (wish) => formattedText('uri', wish)],
  [
    /(^|_)(date_?time|timestamp|created_at|updated_at|start_time|end_time)$/,
    (wish) => formattedText('date-time', wish),
  ],
  [/(^|_)(date|day|deadline|birthday)$/, (wish) => formattedText('date', wish)],
  [/(^|_)(u?id|uuid|key|ref)$/, ({ chance }) => `sandbox-${Math.floor(chance.between(100, 1000))}`],
  [/country/, ({ clues }) => (clues.japanese ? '日本' : 'Japan')],
  [/time_?zone|^tz$/, () => 'Asia/Tokyo'],
  [
    /location|city|place|address|destination|origin|region|town|where/,
    ({ clues }) => clues.place ?? (clues.japanese ? '東京' : 'Tokyo'),
  ],
  [/currency/, ({ clues }) => (clues.japanese ? 'JPY' : 'USD')],
  [/lang(uage)?$|locale/, ({ clues }) => (clues.japanese ? 'ja' : 'en')],
  [/unit/, () => 'metric'],
  [/path|file/, () => 'sandbox.txt'],
  [/(^|_)(code|script)$/, () => 'print("Hello from the sandbox")'],
  [/command|cmd/, () => 'echo "Hello from the sandbox"'],
  [/phone/, () => '+81-3-0000-0000'],
  [/colou?r/, () => 'teal'],
  [/name|title|subject|label/, ({ clues }) => clues.excerpt(40)],
  [
    /quer(y|ies)|search|keyword|question|prompt|text|message|input|content|task|body|topic|descri|summary|answer|reason|thought|note|^q$/,
    ({ clues }) => clues.excerpt(160),
  ],
]

function suggested(wish: Wish): string {
  const name = wish.name.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase()
  const found = SUGGESTIONS.find(([pattern]) => pattern.test(name))?.[1](wish)
  if (found !== undefined && found !== '') return found
  return name === '' ? 'sandbox' : `sandbox ${name.replaceAll('_', ' ')}`
}
