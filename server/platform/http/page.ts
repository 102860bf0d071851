import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { namesTag } from './byte-range.ts'

/** Languages of the pages that people read. */
export type PageLanguage = 'en' | 'ja'

const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The page loads only scripts and styles of the service, runs none of its own text and cannot be framed. */
const PAGE_HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
}

/** A page, or what it loads. */
export type PageAsset = { type: string; etag: string; bytes: Buffer }

/** Make one that does not change once: to encode and hash it costs more than to send it. `type` is its media type, without a charset. */
export function newPage(type: string, text: string): PageAsset {
  const bytes = Buffer.from(text)
  return { type: `${type}; charset=utf-8`, etag: entityTag(bytes), bytes }
}

/** The strong tag of bytes, with its quotes. */
export function entityTag(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
}

/** Sends a page, or 304 to a client that has it. */
export function sendPage(request: FastifyRequest, reply: FastifyReply, { type, etag, bytes }: PageAsset): FastifyReply {
  reply.headers(PAGE_HEADERS).header('etag', etag)
  if (namesTag(request.headers['if-none-match'] ?? '', etag)) return reply.status(304).send()
  return reply.type(type).send(bytes)
}

/** Of what is shown to whoever knows its address: search engines leave it out, and no other page learns the address. */
export const UNLISTED = { 'x-robots-tag': 'noindex', 'referrer-policy': 'no-referrer' }

/** Sends a page that is stored nowhere, with a clip of the service on it. */
export function sendUnlistedPage(reply: FastifyReply, status: 200 | 404, html: string): FastifyReply {
  const policy = `${POLICY}; media-src 'self'`
  reply.headers({
    ...PAGE_HEADERS,
    ...UNLISTED,
    'content-security-policy': policy,
    'cache-control': 'private, no-store',
  })
  return reply.status(status).type('text/html; charset=utf-8').send(html)
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
