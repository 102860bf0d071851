import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { browserOf, newOrganization, newPerson, PASSWORD, type Person } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'

let app: TestApp
let ada: Person
let browser: { cookie: string }

before(async () => {
  app = await startApp()
  ada = await newPerson(app, await newOrganization(app), 'owner')
  browser = await browserOf(app, ada)
})
after(() => app.close())

const FOREIGN: Array<Record<string, string>> = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
]

/** Every console route that changes something, with a body that would pass. */
const CHANGES: Array<[string, string, unknown]> = [
  ['POST', '/console/auth/sign-in/email', { email: 'a@example.com', password: PASSWORD }],
  ['POST', '/console/auth/oidc/invitations', { invitation_id: 'inv_1' }],
  ['POST', '/console/auth/sign-out', undefined],
  ['POST', '/console/session/organization', { organization_id: 'org_1' }],
  ['POST', '/console/password', { current_password: PASSWORD, new_password: PASSWORD }],
  ['POST', '/console/api_keys', { name: 'x' }],
  ['DELETE', '/console/api_keys/key_1', undefined],
  ['POST', '/console/invitations', { email: 'x@example.com', role: 'member' }],
  ['DELETE', '/console/invitations/inv_1', undefined],
  ['POST', '/console/invitations/accept', { token: 'inv_1' }],
  ['PATCH', '/console/members/user_1', { role: 'member' }],
  ['DELETE', '/console/members/user_1', undefined],
]

for (const [method, path, body] of CHANGES) {
  test(`403 csrf_failed: ${method} ${path} from another site`, async () => {
    for (const headers of FOREIGN) {
      const answer = await send(app, method, path, { ...browser, headers }, body)
      assert.equal(answer.status, 403, JSON.stringify(headers))
      assert.equal(answer.body.error.code, 'csrf_failed')
    }
    assert.equal((await send(app, 'GET', '/console/session', browser)).status, 200)
  })
}

test('200 from our own pages, with the headers a browser sends', async () => {
  const own: Array<Record<string, string>> = [
    { 'sec-fetch-site': 'same-origin' },
    { origin: app.url },
    { 'sec-fetch-site': 'same-origin', origin: app.url },
    {},
  ]
  for (const headers of own) {
    assert.equal((await send(app, 'POST', '/console/api_keys', { ...browser, headers }, { name: 'x' })).status, 200)
  }
})

test('reading needs no origin, so that links into the console work', async () => {
  const headers = { 'sec-fetch-site': 'cross-site' }
  assert.equal((await send(app, 'GET', '/console/session', { ...browser, headers })).status, 200)
})
