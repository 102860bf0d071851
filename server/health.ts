import { sql } from 'kysely'
import Type from 'typebox'
import { type Endpoint, endpoint } from './identity/endpoint.ts'
import { ApiError } from './platform/errors.ts'

/** For load balancers: whether this process should be sent requests. Says nothing else about the service. */
export function healthEndpoints(state: { draining: boolean }): readonly Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/healthz',
      auth: 'none',
      summary: 'Whether this process takes requests and reaches its database',
      internal: true,
      response: Type.Object({ status: Type.Literal('ok') }),
      async handle(ctx) {
        if (state.draining) throw new ApiError('server_is_overloaded', 'The service is shutting down.')
        await sql`select 1`.execute(ctx.db)
        return { status: 'ok' }
      },
    }),
  ]
}
