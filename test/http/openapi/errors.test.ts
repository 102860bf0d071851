import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { errorStatuses } from '../../../server/api-docs/openapi/errors.ts'
import { ERRORS, type ErrorCode } from '../../../server/platform/errors.ts'
import {
  newColleague,
  newCustomer,
  startApp,
  type TestApp,
  type TestPerson,
  videoBody,
} from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { storedFile } from '../../support/http/videos-app.ts'
import { ROOT } from '../../support/sources.ts'

type Caller = { key?: string; cookie?: string; headers?: Record<string, string> }
/** A call that is answered with the error, and, where the path has parameters, its address. */
type Provoke = { body?: unknown; by?: Caller; path?: string }

let app: TestApp
let person: TestPerson
let poor: TestPerson
let calls: Record<string, Partial<Record<ErrorCode, Provoke>>>
before(async () => {
  app = await startApp({
    config: `
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
chat_models:
  - { id: sandbox-1, engine: sandbox, price_per_million: { input: "1", output: "1" } }
`,
  })
  person = await newCustomer(app)
  poor = await newCustomer(app, { balance: 0n })
  calls = await provocations()
})
after(() => app.close())

/** Declared errors that need an engine that fails, time, or many requests: each is met in this test. */
const ELSEWHERE: Record<string, Partial<Record<ErrorCode, string>>> = {
  'POST /v1/files': { insufficient_credits: 'storage.test.ts', storage_limit_exceeded: 'storage.test.ts' },
  'POST /v1/videos': {
    intake_paused: '../cli/switches.test.ts',
    concurrency_limit_exceeded: 'videos/create-order.test.ts',
    storage_limit_exceeded: 'storage.test.ts',
  },
  'POST /console/videos/variations': {
    intake_paused: '../cli/switches.test.ts',
    concurrency_limit_exceeded: 'videos/variations.test.ts',
    storage_limit_exceeded: 'storage.test.ts',
  },
  'POST /console/videos/:video_id/last_frame': {
    conflict: 'videos/last-frame.test.ts',
    insufficient_credits: 'storage.test.ts',
    storage_limit_exceeded: 'videos/last-frame.test.ts',
  },
  'POST /v1/chat/completions': {
    intake_paused: '../cli/switches.test.ts',
    upstream_error: 'chat/choices.test.ts',
    upstream_timeout: '../engines/engine-error.test.ts',
  },
  'POST /v1/responses': {
    intake_paused: '../cli/switches.test.ts',
    concurrency_limit_exceeded: 'responses/background-shares.test.ts',
    storage_limit_exceeded: 'storage.test.ts',
    upstream_error: 'responses/errors.test.ts',
    upstream_timeout: 'responses/errors.test.ts',
  },
  'POST /v1/responses/compact': {
    intake_paused: '../cli/switches.test.ts',
    upstream_error: 'responses/compact.test.ts',
    upstream_timeout: '../engines/engine-error.test.ts',
  },
  'GET /v1/responses': {
    invalid_request_error: 'responses/socket-connection.test.ts',
    csrf_failed: 'responses/socket-connection.test.ts',
  },
  'GET /console/auth/oidc/invitations': { missing_api_key: 'console/oidc.test.ts' },
  'POST /console/auth/oidc/invitations': {
    missing_api_key: 'console/oidc.test.ts',
    not_found: 'console/oidc.test.ts',
  },
  'POST /console/auth/sign-in/email': { rate_limit_exceeded: 'console/sign-in-limit.test.ts' },
  'POST /console/auth/sign-in/two-factor': {
    invalid_api_key: 'console/two-factor.test.ts',
    conflict: 'secret-change-two-factor.test.ts',
    rate_limit_exceeded: 'console/two-factor.test.ts',
  },
  'POST /v1/webhook_endpoints': { conflict: 'webhooks/endpoints.test.ts' },
  'POST /v1/webhook_endpoints/:webhook_endpoint_id/redeliver': { conflict: 'webhooks/redeliver.test.ts' },
  'POST /v1/webhook_endpoints/:webhook_endpoint_id/test': { rate_limit_exceeded: 'webhooks/trial.test.ts' },
  'GET /console/estimate': { model_not_found: 'console/estimate.test.ts' },
  'GET /console/prompt_help': { model_not_found: 'console/prompt-help.test.ts' },
  'POST /console/conversations': {
    conflict: 'conversations/conversations.test.ts',
    storage_limit_exceeded: 'storage.test.ts',
  },
  'PATCH /console/conversations/:conversation_id': { storage_limit_exceeded: 'storage.test.ts' },
  'POST /console/videos/:video_id/share_links': { conflict: 'videos/sharing.test.ts' },
  'DELETE /console/share_links/:share_link_id': { permission_denied: 'videos/sharing.test.ts' },
  'POST /console/api_keys': { conflict: 'console/api-keys.test.ts' },
  'POST /console/two_factor': { conflict: 'console/two-factor.test.ts' },
  'POST /console/password': { conflict: 'console/oidc.test.ts' },
  'POST /console/invitations/accept': {
    conflict: 'console/invitations.test.ts',
    rate_limit_exceeded: 'console/sign-in-limit.test.ts',
  },
}

async function provocations(): Promise<typeof calls> {
  const messages = [{ role: 'user', content: 'Hi' }]
  const ask = (more: object = {}) => ({ model: 'sandbox-1', input: 'Hi', ...more })
  const newcomer = await newCustomer(app, { agreed: false })
  const colleague = await newColleague(app, person.org_id)
  const restricted = await newCustomer(app)
  const restrictedMember = { key: (await newColleague(app, restricted.org_id)).key }
  await send(app, 'PATCH', '/console/organization', { cookie: restricted.cookie }, { members_delete: 'own' })
  const theirs = (await send(app, 'POST', '/v1/videos', { key: restricted.key }, videoBody())).body.id
  const { body: ended } = await send(app, 'POST', '/v1/videos', { key: person.key }, videoBody())
  await app.tick()
  const { body: running } = await send(app, 'POST', '/v1/videos', { key: person.key }, videoBody())
  const { body: response } = await send(app, 'POST', '/v1/responses', { key: person.key }, ask())
  const browser = { cookie: person.cookie, headers: { origin: app.url } }
  const page = { headers: { origin: app.url } }
  const invitation = await send(app, 'POST', '/console/invitations', browser, { email: poor.email, role: 'member' })
  const about_a_response = {
    insufficient_credits: { body: ask(), by: poor },
    model_not_found: { body: ask({ model: 'none' }) },
    previous_response_not_found: { body: ask({ previous_response_id: `resp_${'0'.repeat(48)}` }) },
    item_not_found: { body: ask({ input: [{ type: 'item_reference', id: `msg_${'0'.repeat(48)}` }] }) },
  }
  const shared = `/console/videos/${ended.id}/share_links`
  const colleagueBrowser = { cookie: colleague.cookie, headers: { origin: app.url } }
  const proof = { password: 'not the password', code: '123456' }
  const member = `/console/members/${person.user_id}`
  const endpoint = '/v1/webhook_endpoints/whe_none'
  const hook = { name: 'Test', url: 'https://example.com', event_types: ['video.completed'] }
  const as_member = { permission_denied: { path: endpoint, by: { key: colleague.key } } }
  return {
    'POST /v1/videos': {
      insufficient_credits: { body: videoBody(), by: poor },
      agreement_required: { body: videoBody(), by: newcomer },
      model_not_found: { body: videoBody({ model: 'none' }) },
    },
    'POST /console/videos/variations': {
      insufficient_credits: { body: videoBody({ count: 2 }), by: { cookie: poor.cookie, ...page } },
      agreement_required: { body: videoBody({ count: 2 }), by: { cookie: newcomer.cookie, ...page } },
      model_not_found: { body: videoBody({ count: 2, model: 'none' }), by: browser },
    },
    'POST /console/videos/:video_id/last_frame': {
      invalid_request_error: { path: `/console/videos/${running.id}/last_frame`, by: browser },
    },
    'POST /v1/videos/acceptance': { terms_version_mismatch: { body: { terms_version: 'older' }, by: browser } },
    'POST /v1/videos/:video_id/cancel': { conflict: { path: `/v1/videos/${ended.id}/cancel` } },
    'DELETE /v1/videos/:video_id': {
      conflict: { path: `/v1/videos/${running.id}` },
      permission_denied: { path: `/v1/videos/${theirs}`, by: restrictedMember },
    },
    'DELETE /v1/files/:file_id': {
      permission_denied: { path: `/v1/files/${await storedFile(app, restricted)}`, by: restrictedMember },
    },
    'GET /v1/files/:file_id/signed': { invalid_signature: { path: '/v1/files/file_none/signed', by: {} } },
    'GET /v1/files/:file_id/signed/:name': { invalid_signature: { path: '/v1/files/file_none/signed/a', by: {} } },
    'POST /v1/chat/completions': {
      insufficient_credits: { body: { model: 'sandbox-1', messages }, by: poor },
      model_not_found: { body: { model: 'none', messages } },
    },
    'POST /v1/responses': about_a_response,
    'POST /v1/responses/compact': about_a_response,
    'POST /v1/responses/input_tokens': about_a_response,
    'POST /v1/responses/:response_id/cancel': {
      invalid_request_error: { path: `/v1/responses/${response.id}/cancel` },
    },
    'GET /v1/responses': { method_not_allowed: {} },
    'POST /console/auth/sign-in/email': {
      invalid_api_key: { body: { email: person.email, password: 'not the password' }, by: page },
    },
    'POST /console/auth/sign-in/two-factor': { missing_api_key: { body: { code: '123456' }, by: page } },
    'GET /console/videos/archive': {
      not_found: { path: '/console/videos/archive?ids=video_none', by: browser },
      invalid_request_error: { path: `/console/videos/archive?ids=${running.id}`, by: browser },
    },
    'PATCH /console/videos/labels': { not_found: { body: { ids: ['video_none'], favorite: true }, by: browser } },
    'POST /console/videos/:video_id/share_links': {
      permission_denied: { path: shared, body: { expires_in_days: 1 }, by: browser },
    },
    'GET /console/videos/:video_id/share_links': { permission_denied: { path: shared, by: colleagueBrowser } },
    'POST /console/session/organization': { not_found: { body: { organization_id: poor.org_id }, by: browser } },
    'POST /console/invitations': { conflict: { body: { email: colleague.email, role: 'member' }, by: browser } },
    'POST /console/invitations/preview': { not_found: { body: { token: 'inv_none' }, by: page } },
    'POST /console/invitations/accept': {
      not_found: { body: { token: 'inv_none' }, by: page },
      invalid_api_key: { body: { token: invitation.body.token, password: 'not the password' }, by: page },
    },
    'PATCH /console/members/:user_id': { conflict: { path: member, body: { role: 'member' }, by: browser } },
    'DELETE /console/members/:user_id': { conflict: { path: member, by: browser } },
    'POST /console/two_factor/confirm': { conflict: { body: { code: '123456' }, by: browser } },
    'POST /console/two_factor/disable': { conflict: { body: proof, by: browser } },
    'POST /console/two_factor/recovery_codes': { conflict: { body: proof, by: browser } },
    'POST /v1/webhook_endpoints': { permission_denied: { body: hook, by: { key: colleague.key } } },
    'GET /v1/webhook_endpoints': { permission_denied: { by: { key: colleague.key } } },
    'GET /v1/webhook_endpoints/:webhook_endpoint_id': as_member,
    'POST /v1/webhook_endpoints/:webhook_endpoint_id': {
      permission_denied: { ...as_member.permission_denied, body: {} },
    },
    'DELETE /v1/webhook_endpoints/:webhook_endpoint_id': as_member,
    'POST /v1/webhook_endpoints/:webhook_endpoint_id/rotate_secret': {
      permission_denied: { path: `${endpoint}/rotate_secret`, body: {}, by: { key: colleague.key } },
    },
    'POST /v1/webhook_endpoints/:webhook_endpoint_id/test': {
      permission_denied: { path: `${endpoint}/test`, body: { event_type: 'balance.low' }, by: { key: colleague.key } },
    },
    'GET /v1/webhook_endpoints/:webhook_endpoint_id/deliveries': {
      permission_denied: { path: `${endpoint}/deliveries`, by: { key: colleague.key } },
    },
    'GET /v1/webhook_endpoints/:webhook_endpoint_id/deliveries/:event_id': {
      permission_denied: { path: `${endpoint}/deliveries/evt_none`, by: { key: colleague.key } },
    },
    'POST /v1/webhook_endpoints/:webhook_endpoint_id/redeliver': {
      permission_denied: { path: `${endpoint}/redeliver`, body: { since: 0 }, by: { key: colleague.key } },
    },
    'GET /console/auth/oidc': { unknown_url: { by: {} } },
    'GET /console/auth/oidc/invitations': { unknown_url: { by: {} } },
    'POST /console/auth/oidc/invitations': { unknown_url: { body: { invitation_id: 'inv_none' }, by: page } },
    'GET /console/auth/oidc/callback': { unknown_url: { path: '/console/auth/oidc/callback?error=x', by: {} } },
  }
}

test('every error that an endpoint declares is provoked by a test, and no other is listed here', () => {
  const declared = app.app.routes.flatMap(({ method, path, errors = [] }) =>
    errors.map((code) => `${method} ${path} ${code}`),
  )
  const listed = [calls, ELSEWHERE].flatMap((table) =>
    Object.entries(table).flatMap(([name, codes]) => Object.keys(codes).map((code) => `${name} ${code}`)),
  )
  assert.deepEqual(listed.sort(), declared.sort())
  for (const codes of Object.values(ELSEWHERE))
    for (const [code, file] of Object.entries(codes)) {
      const text = readFileSync(join(ROOT, 'test/http', file), 'utf8')
      assert.match(text, new RegExp(`\\b(${code}|${ERRORS[code as ErrorCode].status})\\b`), `${file}: ${code}`)
    }
})

test('a declared error is answered with its code, under a status that the description names', async () => {
  for (const [name, codes] of Object.entries(calls)) {
    const [method, template] = name.split(' ') as [string, string]
    const spec = app.app.routes.find((each) => each.method === method && each.path === template)!
    for (const [code, { path = template, body, by = person }] of Object.entries(codes)) {
      const answer = await send(app, method, path, 'headers' in by || !by.key ? by : { key: by.key }, body)
      const plain = spec.plain_400 && answer.status === 400 ? 'invalid_request_error' : code
      assert.equal(answer.body.error?.code, plain, `${name}: ${answer.status} ${JSON.stringify(answer.body)}`)
      assert.equal(answer.status, ERRORS[code as ErrorCode].status, name)
      assert.ok(errorStatuses(spec).includes(answer.status), name)
    }
  }
})
