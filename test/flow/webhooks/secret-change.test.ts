import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import type { Context } from '../../../server/context.ts'
import { fingerprintSecrets } from '../../../server/nodes/fingerprint.ts'
import { upsertSecretInUse } from '../../../server/nodes/store.ts'
import type { LogFields } from '../../../server/platform/log.ts'
import { signingSecrets } from '../../../server/webhooks/secrets.ts'
import { findEndpointOfAnyOrg } from '../../../server/webhooks/store/endpoints.ts'
import { webhookSweeps } from '../../../server/webhooks/sweeps.ts'
import { newEndpoint, startWebhooksApp, type WebhooksApp } from '../../support/webhooks/app.ts'

let webhooks: WebhooksApp
let endpoint: { id: string; secret: string }
before(async () => {
  webhooks = await startWebhooksApp()
  endpoint = await newEndpoint(webhooks)
})
after(() => webhooks.close())
afterEach(async () => assert.deepEqual(await webhooks.app.audit(), {}))

/** The context of a node with these secrets, and what it logs. */
function nodeWith(secret: string, ...previous: string[]): { ctx: Context; lines: Array<[string, LogFields]> } {
  const lines: Array<[string, LogFields]> = []
  const log = {
    ...webhooks.app.ctx.log,
    info: (event: string, fields: LogFields = {}) => void lines.push([event, fields]),
  }
  return { ctx: { ...webhooks.app.ctx, log, secret, secrets: [secret, ...previous] }, lines }
}
const sweepOf = (ctx: Context) => webhookSweeps(ctx).find(({ name }) => name === 'webhooks.secrets')!
const use = async (secret: string) =>
  upsertSecretInUse(webhooks.app.ctx.db, (await fingerprintSecrets([secret])).secret)
/** The signing secret as a node reads it that has this secret alone. */
async function readWith(secret: string): Promise<string | undefined> {
  const row = await findEndpointOfAnyOrg(webhooks.app.ctx.db, endpoint.id)
  return signingSecrets({ secrets: [secret] }, row!, webhooks.app.clock.now())?.[0]
}

test('signing secrets are encrypted with the secret in use, which is logged once with how many are left', async () => {
  const [old, current] = [webhooks.app.secret, randomBytes(32).toString('hex')]
  await use(current)
  const node = nodeWith(current, old)
  const sweep = sweepOf(node.ctx)
  assert.ok(sweep.every_seconds <= 60)
  await sweep.run()
  await sweep.run()
  assert.equal(await readWith(current), endpoint.secret)
  assert.deepEqual(node.lines, [['webhook_secrets_encrypted', { count: 1, detail: '0 left' }]])

  const former = nodeWith(old, current)
  await sweepOf(former.ctx).run()
  assert.equal(await readWith(current), endpoint.secret, 'not encrypted with the former one again')
  assert.deepEqual(former.lines, [])

  const lost = randomBytes(32).toString('hex')
  await use(lost)
  const without = nodeWith(lost)
  await sweepOf(without.ctx).run()
  assert.deepEqual(without.lines, [['webhook_secrets_encrypted', { count: 0, detail: '1 left' }]])
})
