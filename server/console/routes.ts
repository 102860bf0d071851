import type { FastifyReply } from 'fastify'
import { type Endpoint, endpoint } from '../identity/caller/endpoint.ts'
import { pageLanguage, sendPage } from '../platform/http/page.ts'
import { openEventStream } from '../platform/http/sse.ts'
import type { LiveEvents } from './live.ts'
import { SiteView } from './schema.ts'
import { siteView } from './site.ts'
import { termsPage } from './terms-page.ts'

/** What the console needs beside people, keys and money. */
export function consoleEndpoints(live: LiveEvents): readonly Endpoint[] {
  return [readSite, readTerms, streamEvents(live)]
}

const readSite = endpoint({
  method: 'GET',
  path: '/console/site',
  auth: 'none',
  summary: 'What the sign-in page needs to know of this service',
  response: SiteView,
  headers: { 'cache-control': 'always' },
  async handle(ctx, { reply }) {
    reply.header('cache-control', 'no-cache')
    return siteView(ctx)
  },
})

const readTerms = endpoint({
  method: 'GET',
  path: '/terms',
  auth: 'none',
  summary: 'The video terms as a page, or the way to those of the operator',
  internal: true,
  async handle(ctx, { request, reply }) {
    const { version, url } = ctx.config.terms
    if (url !== null) return reply.header('cache-control', 'no-cache').redirect(url, 302)
    reply.header('vary', 'accept-language')
    return sendPage(reply, 'text/html', termsPage(pageLanguage(request), version))
  },
})

function streamEvents(live: LiveEvents): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/console/events',
    auth: 'session',
    summary: 'Hear of changed video jobs and of the balance as they happen',
    response_type: 'text/event-stream',
    async handle(_ctx, { principal, request, reply }) {
      if (request.method === 'HEAD') return reply.type('text/event-stream; charset=utf-8').send('')
      live.join(principal, () => openEventStream(reply, leaving(reply)))
      return reply
    },
  })
}

/** Aborts when the stream is over, whoever ended it. */
function leaving(reply: FastifyReply): AbortController {
  const left = new AbortController()
  if (reply.raw.destroyed) left.abort()
  reply.raw.once('close', () => left.abort())
  return left
}
