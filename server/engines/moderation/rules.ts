import { createHash } from 'node:crypto'
import Type from 'typebox'
import type { ModerationEngine, ModerationResult } from './contract.ts'
import { openPatternThread } from './pattern-thread.ts'

/**
 * A deny list, not a classifier. An entry of `deny` is a term, or a pattern written `/source/flags`; written as an object, the keys
 * are category names. `media`: what happens to pictures and clips, which this engine cannot see.
 */
export const RulesOptions = Type.Object(
  {
    kind: Type.Literal('rules'),
    deny: Type.Optional(
      Type.Union([Type.Array(Type.String()), Type.Record(Type.String({ minLength: 1 }), Type.Array(Type.String()))]),
    ),
    media: Type.Optional(Type.Enum(['allow', 'block'])),
  },
  { additionalProperties: false },
)
export type RulesOptions = Type.Static<typeof RulesOptions>

/** The engine that results name. */
export const RULES = 'rules'
/** The category of a list that has none. */
export const UNNAMED = 'denied'

/** Moderation by the operator's own deny list. Deterministic, dialogue in `<d>` included. */
export function rulesModeration(options: RulesOptions): ModerationEngine {
  const rules = entries(options.deny).map(readRule)
  const terms = rules.filter((rule) => rule.term !== null)
  const patterns = rules.filter((rule) => rule.pattern !== null)
  const thread = openPatternThread(patterns.map(({ pattern }) => pattern!))
  const version = createHash('sha256')
    .update(JSON.stringify(entries(options.deny)))
    .digest('hex')
    .slice(0, 16)

  return {
    sees_images: false,
    media: options.media ?? 'allow',
    async moderate({ text }, signal): Promise<ModerationResult> {
      const plain = withoutInvisible(text).normalize('NFKC')
      const forms = readings(plain).flatMap((reading) => [reading, foldText(reading)])
      const folded = forms.map((form) => collapse(form))
      const hits = terms.filter((rule) => folded.some((form) => form.includes(rule.term!)))
      if (patterns.length > 0) hits.push(...(await thread.search(forms, signal)).map((place) => patterns[place]!))
      const categories = [...new Set(hits.map((rule) => rule.category))].sort()
      return { verdict: categories.length === 0 ? 'allow' : 'block', categories, engine: RULES, version }
    },
    close: () => thread.close(),
  }
}

/** Mistakes in a deny list that its shape cannot show: blank terms, patterns that do not compile. */
export function rulesMistakes(options: RulesOptions): Array<{ path: string; message: string }> {
  return entries(options.deny).flatMap((entry) => {
    try {
      readRule(entry)
      return []
    } catch (error) {
      return [{ path: entry.path, message: error instanceof Error ? error.message : 'Not a valid rule.' }]
    }
  })
}

/** NFKC, then one case, hiragana for katakana; characters that draw nothing are dropped. Both sides of a comparison pass here. */
function foldText(text: string): string {
  const folded = withoutInvisible(text).normalize('NFKC').toUpperCase().toLowerCase()
  return folded.replace(KATAKANA, (kana) => String.fromCodePoint(kana.codePointAt(0)! - 0x60)).normalize('NFKC')
}

type Entry = { path: string; category: string; text: string }
type Rule = { category: string; term: string | null; pattern: RegExp | null }

const KATAKANA = /[\u30a1-\u30f6\u30fd\u30fe]/g
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\u0000-\u0008\u000e-\u001f]/gu
const MARKS_BEYOND = /(\p{M}{30})\p{M}+/gu
const PATTERN = /^\/(.+)\/([a-z]*)$/s

/** `g` and `y` would make a pattern remember its last match; the others change nothing between calls. */
const PATTERN_FLAGS = /^[imsuv]*$/

function entries(deny: RulesOptions['deny']): Entry[] {
  if (deny === undefined) return []
  if (Array.isArray(deny)) return deny.map((text, i) => ({ path: `deny.${i}`, category: UNNAMED, text }))
  return Object.entries(deny).flatMap(([category, texts]) =>
    texts.map((text, i) => ({ path: `deny.${category}.${i}`, category, text })),
  )
}

function readRule({ category, text }: Entry): Rule {
  const written = PATTERN.exec(text)
  if (written === null) {
    const term = collapse(foldText(text)).trim()
    if (term === '') throw new Error('A term must not be blank.')
    return { category, term, pattern: null }
  }
  const [, source = '', flags = ''] = written
  if (!PATTERN_FLAGS.test(flags)) throw new Error('A pattern takes the flags i, m, s, u and v only.')
  const pattern = new RegExp(source, flags)
  if (pattern.test('')) throw new Error('A pattern must not match the empty text: it would block every prompt.')
  return { category, term: null, pattern }
}

/** The text as written, and without its tags, so that a term cannot hide by being split between dialogue and scene. */
function readings(text: string): string[] {
  if (!text.includes('<')) return [text]
  return [text, text.replace(/<\/?d>/gi, ''), text.replace(/<\/?d>/gi, ' ')]
}

/** Also without marks beyond the thirtieth on one character: to normalize them takes the square of their number. */
function withoutInvisible(text: string): string {
  return text.replace(INVISIBLE, '').replace(MARKS_BEYOND, '$1')
}

function collapse(text: string): string {
  return text.replace(/\s+/gu, ' ')
}
