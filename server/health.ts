import { sql } from 'kysely'
import Type from 'typebox'
import { type Endpoint, endpoint } from './identity/endpoint.ts'

/** For load balancers: whether this process should be sent requests; it answers 503 while shutting down. Says nothing else. */
export const healthEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'GET',
    path: '/healthz',
    auth: 'none',
    summary: 'Whether this process takes requests and reaches its database',
    internal: true,
    response: Type.Object({ status: Type.Literal('ok') }),
    async handle(ctx) {
      await sql`select 1`.execute(ctx.db)
      return { status: 'ok' }
    },
  }),
]
