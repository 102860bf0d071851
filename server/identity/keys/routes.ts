import { unixSeconds } from '../../platform/clock.ts'
import { pageOf, positionOf } from '../../platform/http/list.ts'
import { actorOf } from '../activity/activity.ts'
import { type Route, route } from '../caller/route.ts'
import type { Identity } from '../open.ts'
import { type ApiKey, ApiKeyList, CreatedApiKey, CreateKey, Deleted, IDENTITY_PAGE, List } from '../schema.ts'
import { createKeyBy, type KeyFacts, keyHolder, revokeOwnKey } from './api-keys.ts'
import { listKeys } from './store.ts'

/** API keys, as their owners and the managers of the organization see and revoke them. */
export function keyRoutes({ callers }: Identity): Route[] {
  const list = route({
    method: 'GET',
    path: '/console/api_keys',
    auth: 'session',
    summary: 'List API keys: your own, and everybody’s for owners and admins',
    description: 'Only a hint of each key is shown.',
    query: List,
    response: ApiKeyList,
    async handle(ctx, { principal, query }) {
      const position = positionOf('key', query, IDENTITY_PAGE)
      const rows = await listKeys(ctx.db, { org_id: principal.org_id, user_id: keyHolder(principal) }, position)
      return pageOf(rows, position.limit, keyView)
    },
  })
  const create = route({
    method: 'POST',
    path: '/console/api_keys',
    auth: 'session',
    summary: 'Make an API key for yourself in this organization',
    description: 'The key is shown in this answer and never again.',
    body: CreateKey,
    response: CreatedApiKey,
    errors: ['conflict'],
    example: { name: 'laptop' },
    async handle(ctx, { principal, body, reply }) {
      const { org_id, user_id, session_id } = principal
      const owner = { org_id, user_id, name: body.name, prefix: ctx.config.api_key_prefix, now: ctx.clock.now() }
      const made = await createKeyBy(ctx.db, { actor: actorOf(principal), session_id: session_id! }, owner)
      reply.header('cache-control', 'no-store')
      return { ...keyView(made), key: made.key }
    },
  })
  const revoke = route({
    method: 'DELETE',
    path: '/console/api_keys/:id',
    auth: 'session',
    summary: 'Revoke an API key for good',
    description: 'Calls with it are rejected within seconds.',
    response: Deleted,
    async handle(ctx, { principal, params }) {
      const id = params.id!
      await revokeOwnKey(ctx.db, principal, { id, now: ctx.clock.now() })
      callers.forget(`key:${id}`)
      return { id, object: 'api_key', deleted: true }
    },
  })
  return [list, create, revoke]
}

function keyView(row: KeyFacts): ApiKey {
  return {
    id: row.id,
    object: 'api_key',
    name: row.name,
    hint: row.hint,
    created_at: unixSeconds(row.created_at),
    last_used_at: row.last_used_at && unixSeconds(row.last_used_at),
    user_id: row.user_id,
  }
}
