import { type Endpoint, endpoint } from './identity/endpoint.ts'
import { describeApi } from './openapi.ts'

/** The API description and the page that shows it, made from the endpoints themselves. */
export function openApiEndpoints(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const text = JSON.stringify(describeApi(endpoints))
  return [
    endpoint({
      method: 'GET',
      path: '/openapi.json',
      auth: 'none',
      summary: 'This description',
      internal: true,
      async handle(_ctx, { reply }) {
        return reply.type('application/json; charset=utf-8').send(text)
      },
    }),
  ]
}
