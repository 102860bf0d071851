import { readFileSync } from 'node:fs'
import { type Endpoint, endpoint } from '../identity/caller/endpoint.ts'
import { newPage, type PageAsset, type PageLanguage, pageLanguage, sendPage } from '../platform/http/page.ts'
import { describeApi, examplesOf } from './openapi/document.ts'
import { docsPage } from './page/render.ts'

/** The API description and the page that shows it, made from the endpoints themselves, once somebody asks. */
export function openApiEndpoints(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const description = once(() => describeApi(endpoints))
  const json = once(() => newPage('application/json', JSON.stringify(description())))
  const style = once(() => newPage('text/css', read('./page/frame.css') + read('./page/style.css')))
  const choices = once(() => newPage('text/javascript', read('./page/choices.js')))
  const docsIn = (language: PageLanguage) =>
    once(() => newPage('text/html', docsPage(description(), examplesOf(endpoints), language)))
  const written: Record<PageLanguage, () => PageAsset> = { en: docsIn('en'), ja: docsIn('ja') }
  return [
    pageEndpoint('/openapi.json', async (_ctx, { request, reply }) => sendPage(request, reply, json())),
    pageEndpoint('/docs', async (_ctx, { request, reply }) => {
      reply.header('vary', 'accept-language')
      return sendPage(request, reply, written[pageLanguage(request)]())
    }),
    pageEndpoint('/docs/style.css', async (_ctx, { request, reply }) => sendPage(request, reply, style())),
    pageEndpoint('/docs/choices.js', async (_ctx, { request, reply }) => sendPage(request, reply, choices())),
  ]
}

function pageEndpoint(path: string, handle: Endpoint['handle']): Endpoint {
  return endpoint({ method: 'GET', path, auth: 'none', summary: 'The description of the API', internal: true, handle })
}

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8')
}

function once<T extends string | object>(make: () => T): () => T {
  let made: T | null = null
  return () => (made ??= make())
}
