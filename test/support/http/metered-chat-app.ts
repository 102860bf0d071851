import type { AppOptions } from '../../../server/app.ts'
import { grantCredits } from '../../../server/billing/ledger.ts'
import { openLog } from '../../../server/platform/log.ts'
import { type ChatUpstream, UPSTREAM_MODEL } from '../upstream/chat-upstream.ts'
import { newCustomer, type TestApp, type TestPerson } from './app.ts'
import { startChatService, type TestModel } from './chat-app.ts'
import { type HttpResponse, send } from './send.ts'

export type MeteredChatApp = { app: TestApp; upstream: ChatUpstream; lines: string[]; close(): Promise<void> }

/** A secret that no client and no log line may ever contain, like the address and the model name of the model server. */
const UPSTREAM_KEY = 'sk-canary-upstream-key'

/** Uneven prices, so that every digit of a charge is significant. Units of 10⁻⁸ for a million tokens. */
const PRICES = { input: 13_700_001n, cached_input: 4_100_003n, output: 59_300_007n }
const PRICE = { input: '0.13700001', cached_input: '0.04100003', output: '0.59300007' }

const FAR = { api_key: UPSTREAM_KEY, model: UPSTREAM_MODEL }
const MODELS: readonly TestModel[] = [
  { id: 'sandbox-1', engine: 'sandbox' },
  { id: 'far-1', engine: FAR },
  { id: 'brief-1', engine: { ...FAR, idle_seconds: 0.25, total_seconds: 1 } },
  { id: 'plain-1', engine: { ...FAR, stream_plain: true } },
]

/**
 * The service with the embedded test model as `sandbox-1` and a scriptable chat server as `far-1`. `brief-1` is the same server with short
 * timeouts, `plain-1` the same again, always streamed. `plan`: limits of the customers. Log lines are kept in `lines`.
 */
export async function startMeteredChatApp(
  options: {
    plan?: string
    beside?: MeteredChatApp
    models?: readonly TestModel[]
    timing?: AppOptions['timing']
  } = {},
): Promise<MeteredChatApp> {
  const { plan = '{}', beside, models = [], timing } = options
  const lines = beside?.lines ?? []
  const log = openLog('debug', { write: (line) => void lines.push(line) })
  const metered = [...MODELS, ...models].map((model) => ({
    context_length: 8192,
    capabilities: ['vision', 'tools', 'reasoning', 'structured_outputs', 'logprobs'],
    reasoning_efforts: ['low', 'high'],
    price_per_million: PRICE,
    ...model,
  }))
  const service = await startChatService(metered, { more: `plans: { free: ${plan} }\n`, beside, log, timing })
  return { ...service, lines }
}

/** Asks for a completion of "Hello" by `far-1`. For a stream, see `eventsOf`. */
export function ask(
  app: { url: string },
  { key }: { key: string },
  changes: Record<string, unknown> = {},
  signal?: AbortSignal,
): Promise<HttpResponse> {
  const body = { model: 'far-1', messages: [{ role: 'user', content: 'Hello' }], ...changes }
  return send(app, 'POST', '/v1/chat/completions', { key, ...(signal && { signal }) }, body)
}

/** The data of every event of a stream, `[DONE]` as it is, anything else parsed. Throws on bytes that are no event. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into chunks of many shapes.
export function eventsOf(text: string): any[] {
  if (!text.endsWith('\n\n')) throw new Error(`stream cut off: ${text.slice(-80)}`)
  return text
    .slice(0, -2)
    .split('\n\n')
    .filter((event) => event !== ': keepalive')
    .map((event) => {
      const data = /^data: ([^\n]+)$/.exec(event)?.[1]
      if (data === undefined) throw new Error(`not an event: ${event.slice(0, 80)}`)
      return data === '[DONE]' ? data : JSON.parse(data)
    })
}

/** The charges of an organization for chat, oldest first. */
export async function chargesOf(app: Pick<TestApp, 'database'>, { org_id }: { org_id: string }) {
  return app.database.db
    .selectFrom('ledger_entries')
    .selectAll()
    .where('org_id', '=', org_id)
    .where('kind', '=', 'charge')
    .orderBy('id')
    .execute()
}

export async function balanceOf(app: Pick<TestApp, 'database'>, { org_id }: { org_id: string }): Promise<bigint> {
  const row = await app.database.db
    .selectFrom('accounts')
    .select('balance')
    .where('org_id', '=', org_id)
    .executeTakeFirst()
  return row!.balance
}

/** Resolves when the organization has `count` charges: those of disconnected clients are written later. */
export async function chargesReaching(app: TestApp, person: { org_id: string }, count: number) {
  for (let round = 0; ; round++) {
    const charges = await chargesOf(app, person)
    if (charges.length >= count) return charges
    if (round > 3000) throw new Error(`only ${charges.length} of ${count} charges`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** The cost of tokens at `PRICES`, computed independently of the product. */
export function costOf(tokens: { input: number; cached?: number; output: number }): bigint {
  const { input, cached = 0, output } = tokens
  const each = [PRICES.input, PRICES.cached_input, PRICES.output]
  const counts = [input - cached, cached, output]
  const exact = counts.reduce((sum, count, i) => sum + BigInt(count) * each[i]!, 0n)
  return exact % 1_000_000n === 0n ? exact / 1_000_000n : exact / 1_000_000n + 1n
}

/** The words of `text` that identify the model server, which neither clients nor logs may contain. */
export function canariesIn(text: string, upstream: Pick<ChatUpstream, 'url'>): string[] {
  const { host, port } = new URL(upstream.url)
  return [UPSTREAM_MODEL, UPSTREAM_KEY, host, `:${port}`, 'fp_canary', 'chatcmpl-upstream'].filter((word) =>
    text.includes(word),
  )
}

export function customer(service: MeteredChatApp, balance?: bigint): Promise<TestPerson> {
  return newCustomer(service.app, balance === undefined ? {} : { balance })
}

export async function grant(app: TestApp, { org_id }: { org_id: string }, amount: bigint): Promise<void> {
  const entry = { org_id, amount, note: 'More', user_id: null, now: app.clock.now() }
  await app.database.db.transaction().execute((tx) => grantCredits(tx, entry))
}
