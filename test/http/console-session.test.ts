import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  browserOf,
  cookieOf,
  type IdentityApp,
  newOrganization,
  newPerson,
  type Person,
  send,
  signInAs,
  startIdentity,
} from '../support/identity-app.ts'

let app: IdentityApp
let org: string
let ada: Person

before(async () => {
  app = await startIdentity()
  org = await newOrganization(app)
  ada = await newPerson(app, org, 'owner')
})
after(() => app.close())

test('200 and a cookie no script can read, for this site alone', async () => {
  const answer = await signInAs(app, ada.email)
  assert.equal(answer.status, 200)
  const [cookie, ...others] = answer.headers.getSetCookie()
  assert.deepEqual(others, [])
  assert.match(cookie!, /^kinora\.session_token=[^;]{60,}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.deepEqual(answer.body, {
    object: 'console_session',
    user: { id: ada.user_id, email: ada.email, name: 'owner' },
    organization: { id: org, name: 'Acme', role: 'owner' },
    organizations: [{ id: org, name: 'Acme', role: 'owner' }],
    expires_at: Math.floor(app.clock.now().getTime() / 1000) + 12 * 3600,
  })
})
