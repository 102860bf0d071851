/**
 * A body for each call that takes one, as its curl shows it: the least that does something, with the models that the service has
 * without a `kinora.yaml`. By method and path; each fits its schema, which a test checks.
 */
export const EXAMPLES: Readonly<Record<string, Record<string, unknown>>> = {
  'POST /v1/videos': {
    model: 'storyboard-1',
    prompt: 'A paper boat on a calm lake. <d>Off we go!</d>',
    seconds: 5,
    aspect_ratio: '16:9',
  },
  'POST /v1/videos/acceptance': { terms_version: '2026-11-01' },
  'POST /v1/chat/completions': { model: 'sandbox-1', messages: [{ role: 'user', content: 'Say hello.' }] },
  'POST /v1/responses': { model: 'sandbox-1', input: 'Say hello.' },
  'POST /v1/responses/input_tokens': { model: 'sandbox-1', input: 'Say hello.' },
  'POST /v1/responses/compact': { model: 'sandbox-1', previous_response_id: 'resp_…' },
  'POST /console/auth/sign-in/email': { email: 'mika@example.com', password: 'a long password' },
  'POST /console/auth/sign-in/two-factor': { code: '123456' },
  'POST /console/session/organization': { organization_id: 'org_…' },
  'POST /console/invitations': { email: 'noa@example.com', role: 'member' },
  'POST /console/invitations/preview': { token: 'inv_…' },
  'POST /console/invitations/accept': { token: 'inv_…', name: 'Noa', password: 'another long password' },
  'PATCH /console/profile': { name: 'Mika Mori' },
  'POST /console/password': { current_password: 'a long password', new_password: 'another long password' },
  'POST /console/two_factor': { password: 'a long password' },
  'POST /console/two_factor/confirm': { code: '123456' },
  'POST /console/two_factor/disable': { password: 'a long password', code: '123456' },
  'POST /console/two_factor/recovery_codes': { password: 'a long password', code: '123456' },
  'POST /console/api_keys': { name: 'laptop' },
  'PATCH /console/members/{user_id}': { role: 'admin' },
}
