import { randomBytes } from 'node:crypto'
import { type Meter, openMeter } from '../../../server/billing/meter.ts'
import { runClaimed } from '../../../server/responses/background/run-claimed.ts'
import { openContextLengths } from '../../../server/responses/context/lengths.ts'
import type { ResponseObject } from '../../../server/responses/schema/response.ts'
import { claimResponse } from '../data/claims.ts'
import { type ChatUpstream, startChatUpstream } from '../upstream/chat-upstream.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from './app.ts'
import { type ResponseEvent, readEvents } from './response-requests.ts'
import { type HttpResponse, send } from './send.ts'

/** The service with a scriptable chat server as the model `m`, and one customer. */
export type BackgroundApp = {
  app: TestApp
  upstream: ChatUpstream
  person: TestPerson
  /** Submits a background response. */
  submit(changes?: Record<string, unknown>, caller?: TestPerson): Promise<HttpResponse>
  call(method: string, path: string, caller?: TestPerson): Promise<HttpResponse>
  /** The response once it has ended. */
  ended(id: string): Promise<ResponseObject>
  /** Its events, from the first or after a number, once it has ended. */
  events(id: string, after?: number): Promise<ResponseEvent[]>
  /** Runs every response that has not ended once, in place of the worker. Throws what a run throws, without releasing its claim. */
  tick(): Promise<void>
  close(): Promise<void>
}

/** `works`: the real worker runs in this process. Otherwise responses move by `tick` alone, and the clock is moved by hand in either case. */
export async function startBackgroundApp({
  worker = true,
  beside,
}: {
  worker?: boolean
  beside?: BackgroundApp
} = {}): Promise<BackgroundApp> {
  const upstream = beside?.upstream ?? (await startChatUpstream())
  const app = await startApp({
    config: configText(upstream.url),
    background: worker,
    ...(beside ? { beside: beside.app } : {}),
  })
  const person = beside?.person ?? (await newCustomer(app))
  const meter = openMeter(app.ctx.db)
  return {
    ...{ app, upstream, person },
    submit: (changes = {}, caller = person) =>
      send(
        app,
        'POST',
        '/v1/responses',
        { key: caller.key },
        { model: 'm', input: 'Hello', background: true, ...changes },
      ),
    call: (method, path, caller = person) => send(app, method, `/v1/responses/${path}`, { key: caller.key }),
    async ended(id) {
      await readStream(app, person, `${id}?stream=true`)
      return (await send(app, 'GET', `/v1/responses/${id}`, { key: person.key })).body
    },
    async events(id, after) {
      const from = after === undefined ? '' : `&starting_after=${after}`
      return readEvents(await readStream(app, person, `${id}?stream=true${from}`))
    },
    tick: () => tick(app, meter),
    async close() {
      await meter.close()
      await app.close()
      if (!beside) await upstream.close()
    },
  }
}

/** The text of a stream until its end. */
export async function readStream(app: { url: string }, { key }: { key: string }, path: string): Promise<string> {
  const { status, text } = await send(app, 'GET', `/v1/responses/${path}`, { key })
  if (status !== 200) throw new Error(`no stream: ${status} ${text}`)
  return text
}

async function tick({ ctx }: TestApp, meter: Meter): Promise<void> {
  const waiting = await ctx.db.selectFrom('responses').select('id').where('finished_at', 'is', null).execute()
  for (const { id } of waiting) {
    const claimed = await claimResponse(ctx.db, id, `tick/${randomBytes(8).toString('hex')}`)
    if (claimed) await runClaimed(ctx, { meter, lengths: openContextLengths() }, claimed, new AbortController().signal)
  }
}

function configText(upstream_url: string): string {
  return `
plans: { free: {}, bare: { chat_models: [] } }
video_models: []
chat_models:
  - { id: m, engine: { kind: openai, base_url: "${upstream_url}", model: far }, context_length: 100000,
      capabilities: [vision, tools, reasoning, structured_outputs], price_per_million: { input: "1", output: "2" } }
`
}
