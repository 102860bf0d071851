import { type Endpoint, endpoint } from '../identity/endpoint.ts'
import { SiteView } from './schema.ts'
import { siteView } from './site.ts'

const readSite = endpoint({
  method: 'GET',
  path: '/console/site',
  auth: 'none',
  summary: 'What the sign-in page needs to know of this service',
  response: SiteView,
  async handle(ctx, { reply }) {
    reply.header('cache-control', 'no-cache')
    return siteView(ctx)
  },
})

/** What the console needs beside people, keys and money. */
export const consoleEndpoints: readonly Endpoint[] = [readSite]
