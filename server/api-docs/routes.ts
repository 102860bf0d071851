import { readFileSync } from 'node:fs'
import { type Endpoint, endpoint } from '../identity/caller/endpoint.ts'
import { type PageLanguage, pageLanguage, sendPage } from '../platform/http/page.ts'
import { describeApi, examplesOf } from './openapi/document.ts'
import { docsPage } from './page/render.ts'

/** The API description and the page that shows it, made from the endpoints themselves, once somebody asks. */
export function openApiEndpoints(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const description = once(() => describeApi(endpoints))
  const json = once(() => JSON.stringify(description()))
  const style = once(() => readFileSync(new URL('./page/style.css', import.meta.url), 'utf8'))
  const written: Record<PageLanguage, () => string> = {
    en: once(() => docsPage(description(), examplesOf(endpoints), 'en')),
    ja: once(() => docsPage(description(), examplesOf(endpoints), 'ja')),
  }
  return [
    page('/openapi.json', async (_ctx, { reply }) => sendPage(reply, 'application/json', json())),
    page('/docs', async (_ctx, { request, reply }) => {
      reply.header('vary', 'accept-language')
      return sendPage(reply, 'text/html', written[pageLanguage(request)]())
    }),
    page('/docs/style.css', async (_ctx, { reply }) => sendPage(reply, 'text/css', style())),
  ]
}

function page(path: string, handle: Endpoint['handle']): Endpoint {
  return endpoint({ method: 'GET', path, auth: 'none', summary: 'The description of the API', internal: true, handle })
}

function once<T extends string | object>(make: () => T): () => T {
  let made: T | null = null
  return () => (made ??= make())
}
