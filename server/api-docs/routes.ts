import { readFileSync } from 'node:fs'
import { type Route, route } from '../identity/caller/route.ts'
import { newPage, type PageAsset, type PageLanguage, pageLanguage, sendPage } from '../platform/http/page.ts'
import { describeApi, examplesOf } from './openapi/document.ts'
import { docsPage } from './page/render.ts'

/** The API description and the page that shows it, made from the routes themselves, once somebody asks. */
export function openApiRoutes(routes: readonly Route[]): readonly Route[] {
  const description = once(() => describeApi(routes))
  const json = once(() => newPage('application/json', JSON.stringify(description())))
  const style = once(() => newPage('text/css', read('./page/frame.css') + read('./page/style.css')))
  const choices = once(() => newPage('text/javascript', read('./page/choices.js')))
  const docsIn = (language: PageLanguage) =>
    once(() => newPage('text/html', docsPage(description(), examplesOf(routes), language)))
  const written: Record<PageLanguage, () => PageAsset> = { en: docsIn('en'), ja: docsIn('ja') }
  return [
    pageRoute('/openapi.json', async (_ctx, { request, reply }) => sendPage(request, reply, json())),
    pageRoute('/docs', async (_ctx, { request, reply }) => {
      reply.header('vary', 'accept-language')
      return sendPage(request, reply, written[pageLanguage(request)]())
    }),
    pageRoute('/docs/style.css', async (_ctx, { request, reply }) => sendPage(request, reply, style())),
    pageRoute('/docs/choices.js', async (_ctx, { request, reply }) => sendPage(request, reply, choices())),
  ]
}

function pageRoute(path: string, handle: Route['handle']): Route {
  return route({ method: 'GET', path, auth: 'none', summary: 'The description of the API', internal: true, handle })
}

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8')
}

function once<T extends string | object>(make: () => T): () => T {
  let made: T | null = null
  return () => (made ??= make())
}
