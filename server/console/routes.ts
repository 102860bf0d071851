import type { FastifyReply } from 'fastify'
import type { Context } from '../context.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { PASSWORD_LENGTH } from '../identity/login/library.ts'
import { newPage, pageLanguage, sendPage } from '../platform/http/page.ts'
import { openEventStream } from '../platform/http/sse.ts'
import { VERSION } from '../platform/start/version.ts'
import { termsUrl } from '../videos/acceptance.ts'
import type { Gates } from '../videos/create/create.ts'
import { estimateRoute } from './estimate.ts'
import { lastFrameRoute } from './last-frame.ts'
import type { LiveEvents } from './live-events.ts'
import { readMakers, readSubmitters } from './makers.ts'
import { readOrigin } from './origin.ts'
import { readPromptHelp } from './prompt-help.ts'
import { SiteView } from './schema.ts'
import { termsPage } from './terms-page.ts'
import { variationsRoute } from './variations.ts'

/** What the console needs besides people, keys and money. `live` serves its event stream, `gates` keep new jobs out. */
export function consoleRoutes({ live, gates }: { live: LiveEvents; gates: Gates }): readonly Route[] {
  return [
    readSite,
    readTerms,
    readMakers,
    readSubmitters,
    readOrigin,
    estimateRoute(),
    readPromptHelp,
    variationsRoute(gates),
    lastFrameRoute(gates),
    streamEvents(live),
  ]
}

const readSite = route({
  method: 'GET',
  path: '/console/site',
  auth: 'none',
  summary: 'What the sign-in page needs to know of this service',
  description: 'Without a credential: the address, the terms, and the ways of signing in.',
  response: SiteView,
  headers: { 'cache-control': 'always' },
  async handle(ctx, { reply }) {
    reply.header('cache-control', 'no-cache')
    return siteView(ctx)
  },
})

const readTerms = route({
  method: 'GET',
  path: '/terms',
  auth: 'none',
  summary: 'The video terms as a page, or a redirect to those of the operator',
  internal: true,
  async handle(ctx, { request, reply }) {
    const { version, url } = ctx.config.terms
    if (url !== null) return reply.header('cache-control', 'no-cache').redirect(url, 302)
    reply.header('vary', 'accept-language')
    return sendPage(request, reply, newPage('text/html', termsPage(pageLanguage(request), version)))
  },
})

function streamEvents(live: LiveEvents): Route {
  return route({
    method: 'GET',
    path: '/console/events',
    auth: 'session',
    summary: 'Stream changes of video jobs and of the balance',
    description: 'Server-sent events for as long as the connection is open.',
    response_type: 'text/event-stream',
    async handle(_ctx, { principal, request, reply }) {
      if (request.method === 'HEAD') return reply.type('text/event-stream; charset=utf-8').send('')
      live.join(principal, () => openEventStream(reply, leaving(reply)))
      return reply
    },
  })
}

/** Aborts when the connection closes, whichever side closed it. */
function leaving(reply: FastifyReply): AbortController {
  const left = new AbortController()
  if (reply.raw.destroyed) left.abort()
  reply.raw.once('close', () => left.abort())
  return left
}

/** What the sign-in page and the console need to know of this service. Public: no secrets and no names of people. */
function siteView({ config, site, engines }: Pick<Context, 'config' | 'site' | 'engines'>): SiteView {
  const { min, max } = PASSWORD_LENGTH
  return {
    object: 'console_site',
    version: VERSION,
    public_url: site.public_url,
    currency: config.currency,
    terms: { version: config.terms.version, url: termsUrl({ config, site }) },
    oidc: config.login.oidc && { name: config.login.oidc.name },
    two_factor: true,
    password: { min_length: min, max_length: max },
    translates: engines.translation.available,
    prompt_help: config.prompt_help !== null,
    sharing: config.sharing,
  }
}
