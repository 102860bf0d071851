import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('200 without a credential: what a sign-in page needs, and nothing else', async () => {
  const answer = await send(app, 'GET', '/console/site')
  assert.equal(answer.status, 200)
  assert.match(answer.body.version, /^\d+\.\d+\.\d+/)
  const { terms, currency } = app.ctx.config
  assert.deepEqual(answer.body, {
    object: 'console_site',
    version: answer.body.version,
    public_url: app.url,
    currency,
    terms: { version: terms.version, url: `${app.url}/terms` },
    oidc: null,
    two_factor: true,
    password: { min_length: 8, max_length: 128 },
    translates: false,
    prompt_help: false,
    sharing: null,
  })
})

test('200 with the name of the identity provider, and nothing else of it', async () => {
  const config = `login:
  oidc: { name: Acme, issuer: "https://id.acme.example", client_id: a-client, client_secret: a-secret }`
  const other = await startApp({ config })
  const { body } = await send(other, 'GET', '/console/site')
  await other.close()
  assert.deepEqual(body.oidc, { name: 'Acme' })
  for (const word of ['id.acme.example', 'a-client', 'a-secret']) assert.ok(!JSON.stringify(body).includes(word))
})

test('200 shows whether Japanese prompts are translated, and nothing of the engine', async () => {
  const config = 'translation: { engine: { kind: chat, base_url: "http://translator.internal:8000", model: a-model } }'
  const other = await startApp({ config })
  const { body } = await send(other, 'GET', '/console/site')
  await other.close()
  assert.equal(body.translates, true)
  for (const word of ['translator.internal', 'a-model']) assert.ok(!JSON.stringify(body).includes(word))
})

test('200 and the same answer for somebody who is signed in', async () => {
  const { cookie } = await newCustomer(app)
  const [open, signedIn] = [
    await send(app, 'GET', '/console/site'),
    await send(app, 'GET', '/console/site', { cookie }),
  ]
  assert.deepEqual(signedIn.body, open.body)
})
