import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { QueryClient } from '@tanstack/react-query'
import { beginSession, followSession, SESSION_KEY, type Session } from './session.ts'

const { fetch } = globalThis
afterEach(() => {
  globalThis.fetch = fetch
})

const sessionOf = (user_id: string, org_id: string) =>
  ({ user: { id: user_id }, organization: { id: org_id } }) as Session

/** The query cache of somebody who is signed in and has their files on the page. */
function openedBy(session: Session): QueryClient {
  const queries = new QueryClient()
  queries.setQueryData(SESSION_KEY, session)
  queries.setQueryData(['files'], ['plan.pdf'])
  return queries
}

test('a page follows when another tab signed in somebody else of the same organization', async () => {
  const queries = openedBy(sessionOf('user_1', 'org_1'))
  const now = sessionOf('user_2', 'org_1')
  globalThis.fetch = async () => Response.json(now)
  await followSession(queries)
  assert.deepEqual(queries.getQueryData(SESSION_KEY), now)
  assert.equal(queries.getQueryData(['files']), undefined)
})

test('an answer from before the organization was switched does not undo the switch', async () => {
  const before = sessionOf('user_1', 'org_1')
  const after = sessionOf('user_1', 'org_2')
  const queries = openedBy(before)
  const { promise, resolve } = Promise.withResolvers<Response>()
  globalThis.fetch = () => promise
  const followed = followSession(queries)
  beginSession(queries, after)
  resolve(Response.json(before))
  await followed
  assert.deepEqual(queries.getQueryData(SESSION_KEY), after)
})

test('the same session drops nothing', async () => {
  const session = sessionOf('user_1', 'org_1')
  const queries = openedBy(session)
  globalThis.fetch = async () => Response.json(session)
  await followSession(queries)
  assert.deepEqual(queries.getQueryData(['files']), ['plan.pdf'])
})
