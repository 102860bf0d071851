import type { FastifyReply, FastifyRequest } from 'fastify'

/** Languages of the pages that people read. */
export type PageLanguage = 'en' | 'ja'

/** The page runs no script, loads only its own style sheet and cannot be framed. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
}

/** Sends a page without scripts, or a part of one. `type` is its media type, without a charset. */
export function sendPage(reply: FastifyReply, type: string, text: string): FastifyReply {
  return reply.type(`${type}; charset=utf-8`).headers(PAGE_HEADERS).send(text)
}

/**
 * The language a page is written in: the `lang` of its query, or the one that the browser prefers. English where neither is known.
 * Source: RFC 9110, section 12.5.4.
 */
export function pageLanguage(request: FastifyRequest): PageLanguage {
  const { lang } = request.query as { lang?: unknown }
  if (lang === 'en' || lang === 'ja') return lang
  const preferred = String(request.headers['accept-language'] ?? '')
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((each) => each.trim()))
    .map(([name = '', weight = 'q=1']) => ({ name, quality: Number(weight.replace(/^q=/, '')) }))
    .filter(({ name, quality }) => /^(en|ja)(-|$)/.test(name) && quality > 0)
    .sort((a, b) => b.quality - a.quality)
  return preferred[0]?.name.startsWith('ja') ? 'ja' : 'en'
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
