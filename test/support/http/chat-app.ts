import type { ByteBudget } from '../../../server/platform/http/body/byte-budget.ts'
import { type ChatUpstream, startChatUpstream } from '../upstream/chat-upstream.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from './app.ts'
import { type HttpResponse, send } from './send.ts'

/** Settings of a model of the test service. `engine`: options of the scriptable chat server, or the name of another engine. */
export type TestModel = { id: string; engine?: object | string; [setting: string]: unknown }

type ServiceOptions = Pick<NonNullable<Parameters<typeof startApp>[0]>, 'background' | 'log' | 'node_id' | 'timing'> & {
  /** Lines of the configuration. */
  more?: string
  budget?: ByteBudget | undefined
  /** A second process on the database and the chat server of this service. */
  beside?: { app: TestApp; upstream: ChatUpstream } | undefined
}

/** The service with a scriptable chat server and these models, which cost 1 and 2 for a million tokens unless their settings say otherwise. */
export async function startChatService(models: readonly TestModel[], options: ServiceOptions = {}) {
  const { more = '', beside, budget, ...rest } = options
  const upstream = beside?.upstream ?? (await startChatUpstream())
  const config = chatConfig(models, upstream) + more
  const app = await startApp({ ...rest, config, ...(budget && { budget }), ...(beside && { beside: beside.app }) })
  return {
    app,
    upstream,
    async close() {
      await app.close()
      if (!beside) await upstream.close()
    },
  }
}

export type ChatApp = Awaited<ReturnType<typeof startChatApp>>

/** The same with one customer and one of another organization. Models have every capability unless their settings say otherwise. */
export async function startChatApp(models: readonly TestModel[], more = '') {
  const service = await startChatService(
    models.map((model) => ({ capabilities: EVERYTHING, ...model })),
    { more },
  )
  const { app, upstream } = service
  const person = await newCustomer(app)
  const outsider = await newCustomer(app)
  return {
    ...service,
    person,
    outsider,
    /** A completion of one user message, or of the messages given. */
    chat: (changes: Record<string, unknown> = {}, caller: TestPerson = person): Promise<HttpResponse> =>
      chat(app, caller, changes),
    /** The last request to the chat server. */
    asked: () => upstream.requests.at(-1)?.json as Asked,
    /** The answer to a completion, and what the chat server was asked for it. */
    async askedFor(changes: Record<string, unknown>): Promise<{ status: number; body: unknown; asked: Asked }> {
      upstream.requests.splice(0)
      const { status, body, text } = await chat(app, person, changes)
      return { status, body: body ?? text, asked: upstream.requests.at(-1)?.json ?? {} }
    },
  }
}

/** A request as the chat server got it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into requests of many shapes.
export type Asked = Record<string, any>

const EVERYTHING = ['vision', 'video', 'audio', 'tools', 'reasoning', 'structured_outputs', 'logprobs']

const ASKED = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }

function chat(app: TestApp, caller: TestPerson, changes: Record<string, unknown>): Promise<HttpResponse> {
  return send(app, 'POST', '/v1/chat/completions', { key: caller.key }, { ...ASKED, ...changes })
}

/** YAML is a superset of JSON. */
function chatConfig(models: readonly TestModel[], { url }: ChatUpstream): string {
  const chat_models = models.map(({ engine = {}, ...settings }) => ({
    price_per_million: { input: '1', output: '2' },
    ...settings,
    engine:
      typeof engine === 'string'
        ? engine
        : { kind: 'openai', base_url: url, model: `upstream/${settings.id}`, ...engine },
  }))
  const video_models = [{ id: 'instant-1', engine: 'instant', per_second: '0.010000' }]
  return `chat_models: ${JSON.stringify(chat_models)}\nvideo_models: ${JSON.stringify(video_models)}\n`
}
