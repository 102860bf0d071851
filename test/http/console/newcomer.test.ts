import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { agree, newCustomer, startApp, type TestApp, videoBody } from '../../support/http/app.ts'
import { cookieOf, PASSWORD } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'
import { assertRefused } from '../../support/http/videos-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('an invited person has agreed to nothing: owners agree for themselves alone, and a key carries no agreement', async () => {
  const owner = await newCustomer(app)
  const email = `${randomBytes(6).toString('hex')}@example.com`
  const invited = await send(app, 'POST', '/console/invitations', { cookie: owner.cookie }, { email, role: 'admin' })
  const acceptance = { token: invited.body.token, name: 'Newcomer', password: PASSWORD }
  const browser = { cookie: cookieOf(await send(app, 'POST', '/console/invitations/accept', {}, acceptance)) }
  const { key } = (await send(app, 'POST', '/console/api_keys', browser, { name: 'mine' })).body

  const needed = { status: 403, code: 'agreement_required', type: 'permission_error' }
  for (const caller of [browser, { key }]) {
    assert.equal((await send(app, 'GET', '/v1/videos/acceptance', caller)).body.accepted, false)
    assertRefused(await send(app, 'POST', '/v1/videos', caller, videoBody()), needed)
  }
  const { terms } = (await send(app, 'GET', '/console/site')).body
  assert.equal(terms.version, (await send(app, 'GET', '/v1/videos/acceptance', browser)).body.terms_version)
  await agree(app, browser)
  for (const caller of [browser, { key }]) {
    assert.equal((await send(app, 'POST', '/v1/videos', caller, videoBody())).status, 200)
  }
})
