import { type Meter, openMeter } from '../../server/billing/meter.ts'
import { chatRoutes } from '../../server/chat/routes.ts'
import type { ChatModelConfig, Config, Plan } from '../../server/config/config.ts'
import type { Context } from '../../server/context.ts'
import { openaiChat } from '../../server/engines/chat/openai/adapter.ts'
import type { Principal } from '../../server/identity/caller/principal.ts'
import { registerRoutes } from '../../server/identity/caller/route.ts'
import { systemClock } from '../../server/platform/clock.ts'
import { openDb } from '../../server/platform/db/db.ts'
import { openHttp } from '../../server/platform/http/server.ts'
import { silentLog } from '../../server/platform/log.ts'

/**
 * The chat route alone, with one caller who needs no key, metered `on` the database or `off`. Prints its address.
 * Arguments: on or off, address of the database, of the model server, organization, user.
 */
const [metering, database_url, base_url, org_id, user_id] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
]

const { db } = openDb(database_url)
const unmetered: Meter = {
  admit() {},
  expect() {},
  async charge() {},
  chargeWithin: async () => () => {},
  async close() {},
}
const principal: Principal = {
  org_id,
  user_id,
  role: 'owner',
  plan: 'bench',
  via: 'api_key',
  key_id: null,
  session_id: null,
}
const ctx = context()
const live = Object.assign(ctx, { use: () => ({ ctx, end: () => {} }) })
const http = openHttp({ log: silentLog })
http.decorateRequest('principal', null)
http.register(async (routes) =>
  registerRoutes(routes, live, chatRoutes(metering === 'on' ? openMeter(db) : unmetered), {
    api_key: async () => principal,
    recall: () => principal,
    session: async () => null,
    hasSession: () => false,
  }),
)
console.log(await http.listen({ host: '127.0.0.1', port: 0 }))

/** What the chat route reads, and nothing else. */
function context(): Context {
  const plan = {
    requests_per_minute: null,
    video_models: [],
    chat_models: ['*'],
    max_concurrent_renders: 0,
    max_background_responses: 0,
  } as unknown as Plan
  const config = { plans: new Map([['bench', plan]]), chat_models: [model()] } as unknown as Config
  const engine = openaiChat({ kind: 'openai', base_url })
  const engines = { chat: new Map([['fast-1', { engine, model: 'fast' }]]) } as unknown as Context['engines']
  return { config, clock: systemClock, log: silentLog, db, engines, secret: 'bench' } as unknown as Context
}

function model(): ChatModelConfig {
  const prices = { input: 10_000_000n, cached_input: 10_000_000n, output: 40_000_000n }
  const none = { capabilities: [], reasoning_efforts: [], extra_params: [] }
  const unset = {
    context_length: null,
    max_output_tokens: null,
    default_reasoning_effort: null,
    hash_user: false,
    expose_raw_reasoning: false,
  }
  return { id: 'fast-1', prices, ...none, ...unset } as unknown as ChatModelConfig
}
