import Type from 'typebox'
import { type EngineClient, engineClient } from '../../platform/outbound/client.ts'
import { ServerUrl } from '../base-url.ts'
import type { EntryMistake } from '../engine-entry.ts'
import { type CallLimits, postJson } from '../openai-client.ts'
import { unreadableReply } from '../reply-error.ts'
import { secondsForLength, type TranslationEngine } from './contract.ts'
import { translateAround } from './markup.ts'

/** `format`: whose API the server has. */
export const HttpTranslationOptions = Type.Object(
  {
    kind: Type.Literal('http'),
    format: Type.Enum(['libretranslate', 'deepl']),
    base_url: ServerUrl,
    api_key: Type.Optional(Type.String()),
    headers: Type.Optional(Type.Record(Type.String({ minLength: 1 }), Type.String())),
    timeout_seconds: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
)
export type HttpTranslationOptions = Type.Static<typeof HttpTranslationOptions>

/** Translation by a server with the API of LibreTranslate or DeepL, Japanese to English. */
export function httpTranslation(options: HttpTranslationOptions): TranslationEngine {
  const { base_url, api_key, headers = {}, timeout_seconds } = options
  const format = FORMATS[options.format]
  const client = engineClient({ base_url, headers: { ...format.headers(api_key), ...headers } })
  return {
    available: true,
    literal: true,
    translate(input, signal) {
      const timeout_ms = (timeout_seconds ?? SENTENCE_SECONDS + secondsForLength(input.text)) * 1000
      return translateAround(input, format.tag, (texts, { markup }) =>
        translateTexts(client, format, { texts, markup, api_key }, { signal, timeout_ms }),
      )
    },
    close: () => client.close(),
  }
}

/** The time limit of a call for one sentence where the entry sets none. */
const SENTENCE_SECONDS = 30

/** Options that contradict the format, and the address of a call in place of the server's. */
export function httpTranslationMistakes({
  format,
  base_url,
  api_key,
  headers = {},
}: HttpTranslationOptions): EntryMistake[] {
  const { path, credential_required } = FORMATS[format]
  const mistakes: EntryMistake[] = []
  const version = format === 'deepl' ? '|/v2' : ''
  if (new RegExp(`(?:${path}${version})/*$`).test(base_url))
    mistakes.push({ path: 'base_url', message: `Must end before ${path}, which is added.` })
  const hasHeader = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  if (credential_required && !api_key && !hasHeader)
    mistakes.push({ path: 'api_key', message: `Is required by the format ${format}.` })
  return mistakes
}

type Format = {
  path: string
  /** The element whose content the server does not translate. */
  tag: string
  credential_required: boolean
  headers(api_key: string | undefined): Record<string, string>
  body(texts: readonly string[], options: { markup: boolean; api_key: string | undefined }): object
  /** The translations of a reply, unchecked. */
  read(reply: Record<string, unknown>): unknown
}

/** Sources: https://docs.libretranslate.com/guides/api_usage, https://developers.deepl.com/docs/translate/translating-xml */
const FORMATS: Record<HttpTranslationOptions['format'], Format> = {
  libretranslate: {
    path: '/translate',
    tag: 'code',
    credential_required: false,
    headers: () => ({}),
    body: (texts, { markup, api_key }) => ({
      q: texts.length === 1 ? texts[0] : texts,
      source: 'ja',
      target: 'en',
      format: markup ? 'html' : 'text',
      ...(api_key && { api_key }),
    }),
    read: ({ translatedText }) => (typeof translatedText === 'string' ? [translatedText] : translatedText),
  },
  deepl: {
    path: '/v2/translate',
    tag: 'x',
    credential_required: true,
    headers: (api_key): Record<string, string> => (api_key ? { authorization: `DeepL-Auth-Key ${api_key}` } : {}),
    body: (text, { markup }) => ({
      text,
      source_lang: 'JA',
      target_lang: 'EN-US',
      ...(markup && { tag_handling: 'xml', ignore_tags: ['x'], outline_detection: false }),
    }),
    read: ({ translations }) =>
      Array.isArray(translations) ? translations.map((each: { text?: unknown } | null) => each?.text) : undefined,
  },
}

/** Texts of one call: DeepL takes no more. */
const TEXTS_MAX = 50

async function translateTexts(
  client: EngineClient,
  format: Format,
  { texts, ...options }: { texts: readonly string[]; markup: boolean; api_key: string | undefined },
  limits: CallLimits,
): Promise<string[]> {
  const translated: string[] = []
  for (let i = 0; i < texts.length; i += TEXTS_MAX) {
    const some = texts.slice(i, i + TEXTS_MAX)
    const reply = await postJson(client, format.path, format.body(some, options), limits)
    translated.push(...readTexts(format.read(reply as Record<string, unknown>), some.length))
  }
  return translated
}

function readTexts(texts: unknown, count: number): string[] {
  if (!Array.isArray(texts) || texts.length !== count || !texts.every((text) => typeof text === 'string'))
    throw unreadableReply('it does not hold one translation for each text')
  return texts
}
