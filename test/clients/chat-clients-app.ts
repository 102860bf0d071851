import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { newCustomer, startApp } from '../support/http/app.ts'
import { chargesReaching } from '../support/http/metered-chat-app.ts'

export type ClientsApp = Awaited<ReturnType<typeof startForClients>>

const EVERYTHING = '[vision, video, audio, tools, reasoning, structured_outputs, logprobs]'
const REST = 'reasoning_efforts: [low, medium, high], price_per_million: { input: "0.10", output: "0.40" }'

/** `sandbox-1` can do everything, as can `o1-sandbox`, named as models that reason are; `plain-1` can only talk; `slow-1` takes its time over every token. */
const CONFIG = `
chat_models:
  - { id: sandbox-1, engine: sandbox, name: Sandbox, capabilities: ${EVERYTHING}, ${REST} }
  - { id: o1-sandbox, engine: sandbox, capabilities: ${EVERYTHING}, ${REST} }
  - { id: org/plain-1, engine: sandbox, price_per_million: { input: "0.10", output: "0.40" } }
  - { id: slow-1, engine: { kind: sandbox, delay_ms_per_token: 20 }, price_per_million: { input: "0.10", output: "0.40" } }
`

/**
 * The service as clients of others find it: on a loopback port, with the embedded test model and one customer. `close` fails when a
 * client called any other host, or when the books do not balance. With `background` the worker of background responses runs.
 */
export async function startForClients({ background = false } = {}) {
  const app = await startApp({ config: CONFIG, background })
  const person = await newCustomer(app)
  const origins = new Set<string>()
  const onRequest = (message: unknown) => void origins.add((message as { request: { origin: string } }).request.origin)
  subscribe('undici:request:create', onRequest)
  return {
    app,
    person,
    base_url: `${app.url}/v1`,
    /** Resolves with the charges of the customer once there are `count`. */
    charges: (count: number) => chargesReaching(app, person, count),
    async close() {
      unsubscribe('undici:request:create', onRequest)
      const violations = await app.audit()
      await app.close()
      assert.deepEqual([...origins], [app.url])
      assert.deepEqual(violations, {})
    },
  }
}
