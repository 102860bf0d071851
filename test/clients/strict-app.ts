import assert from 'node:assert/strict'
import { newCustomer, startApp } from '../support/http/app.ts'
import { startStrictUpstream } from '../support/upstream/strict-upstream.ts'

export type StrictApp = Awaited<ReturnType<typeof startStrictApp>>

/** What the tool `read_file` gives: programs print NUL, and half a character where their output is cut. */
export const PRINTED = 'ELF\u0000\u0001 cut \ud83d'

/** The service in front of a chat server that is as strict as they come, with the model `m`. `close` fails when that has refused anything. */
export async function startStrictApp() {
  const upstream = await startStrictUpstream()
  upstream.play(
    { call: 'read_file', with: { path: 'a.out' } },
    { call: 'read_file', with: {} },
    { text: 'It is a program.' },
  )
  const engine = { kind: 'openai', base_url: upstream.url, model: 'strict' }
  const price_per_million = { input: '1', output: '2' }
  const model = { id: 'm', engine, price_per_million, capabilities: ['tools', 'reasoning', 'structured_outputs'] }
  const app = await startApp({ config: `chat_models: ${JSON.stringify([model])}\n` })
  const person = await newCustomer(app)
  return {
    app,
    person,
    upstream,
    base_url: `${app.url}/v1`,
    async close() {
      const violations = await app.audit()
      await app.close()
      await upstream.close()
      assert.deepEqual(upstream.refused, [])
      assert.deepEqual(violations, {})
    },
  }
}
