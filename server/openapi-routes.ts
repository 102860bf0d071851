import { readFileSync } from 'node:fs'
import { docsPage } from './docs-page.ts'
import { type Endpoint, endpoint } from './identity/endpoint.ts'
import { describeApi } from './openapi.ts'
import { sendPage } from './platform/page.ts'

/** The API description and the page that shows it, made from the endpoints themselves, once somebody asks. */
export function openApiEndpoints(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const description = once(() => describeApi(endpoints))
  const pages = [
    { path: '/openapi.json', type: 'application/json', text: once(() => JSON.stringify(description())) },
    { path: '/docs', type: 'text/html', text: once(() => docsPage(description())) },
    {
      path: '/docs/style.css',
      type: 'text/css',
      text: once(() => readFileSync(new URL('./docs-page.css', import.meta.url), 'utf8')),
    },
  ]
  return pages.map(({ path, type, text }) =>
    endpoint({
      method: 'GET',
      path,
      auth: 'none',
      summary: 'The description of the API',
      internal: true,
      async handle(_ctx, { reply }) {
        return sendPage(reply, type, text())
      },
    }),
  )
}

function once<T extends string | object>(make: () => T): () => T {
  let made: T | null = null
  return () => (made ??= make())
}
