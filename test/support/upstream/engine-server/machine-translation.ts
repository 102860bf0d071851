import type { Answers } from './answers.ts'
import type { ReceivedRequest, Reply } from './exchange.ts'
import { jsonReply } from './renders.ts'

/** LibreTranslate's `/translate`, which makes one space of all white space, and resolves the entities of its answers. Source: https://docs.libretranslate.com/guides/api_usage */
export function answerLibretranslate(answers: Answers, { json }: ReceivedRequest): Reply {
  const { q, source, target, format = 'text', ...others } = (json ?? {}) as Record<string, unknown>
  const unknown = Object.keys(others).filter((name) => name !== 'api_key')
  const texts = [q].flat()
  if (source !== 'ja' || target !== 'en' || unknown.length > 0 || !isTexts(texts))
    return jsonReply(400, { error: 'Invalid request' })
  if (format !== 'text' && format !== 'html') return jsonReply(400, { error: `${format} format is not supported` })
  const translated = texts.map((text) =>
    format === 'html' ? decode(translateMarkup(answers, text.split(/\s+/).join(' '), 'code')) : plain(answers, text),
  )
  return jsonReply(200, { translatedText: Array.isArray(q) ? translated : translated[0] })
}

/** DeepL's `/v2/translate`. Source: https://developers.deepl.com/docs/translate/translating-xml */
export function answerDeepl(answers: Answers, { headers, json }: ReceivedRequest): Reply {
  if (!/^DeepL-Auth-Key \S+$/.test(headers.authorization ?? '')) return jsonReply(403, { message: 'Forbidden' })
  const body = (json ?? {}) as Record<string, unknown>
  const { text, source_lang, target_lang, tag_handling, ignore_tags } = body
  if (!Array.isArray(text) || !isTexts(text) || text.length > 50 || source_lang !== 'JA' || target_lang !== 'EN-US')
    return jsonReply(400, { message: 'Bad request' })
  const [tag = 'none'] = Array.isArray(ignore_tags) ? (ignore_tags as string[]) : []
  const translations = text.map((each) => ({
    detected_source_language: 'JA',
    text: tag_handling === 'xml' ? translateMarkup(answers, each, tag) : plain(answers, each),
  }))
  return jsonReply(200, { translations })
}

/** Markup with every text translated but those in elements `tag`, written as an XML library writes it: with entities. */
export function translateMarkup(
  answers: Pick<Answers, 'translation' | 'translatedMarkup'>,
  markup: string,
  tag: string,
): string {
  const parts = markup.split(new RegExp(`(<${tag} translate="no">[^<]*</${tag}>)`))
  const translated = parts.map((part, i) => (i % 2 === 1 ? part : encode(answers.translation(requireText(part)))))
  return answers.translatedMarkup(translated.join(''))
}

/** A placeholder in plain text does not survive: a translator takes its brackets for punctuation. */
function plain(answers: Answers, text: string): string {
  return answers.translation(text).replace(/[⟦⟧]/g, '"')
}

function isTexts(texts: unknown[]): texts is string[] {
  return texts.length > 0 && texts.every((text) => typeof text === 'string' && text !== '')
}

function requireText(text: string): string {
  if (/[<>&]/.test(text)) throw new Error(`not well-formed: ${text}`)
  return text
}

function decode(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}

function encode(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
