import { randomBytes } from 'node:crypto'
import { type Meter, openMeter } from '../../../server/billing/meter.ts'
import { openStorageGate } from '../../../server/billing/storage/gate.ts'
import type { ByteBudget } from '../../../server/platform/http/body/byte-budget.ts'
import { runClaimed } from '../../../server/responses/background/run-claimed.ts'
import { openContextLengths } from '../../../server/responses/context/lengths.ts'
import type { ResponseObject } from '../../../server/responses/schema/response.ts'
import { claimResponse } from '../data/claims.ts'
import type { ChatUpstream } from '../upstream/chat-upstream.ts'
import { newCustomer, type TestApp, type TestPerson } from './app.ts'
import { startChatService } from './chat-app.ts'
import { type ResponseEvent, readEvents } from './response-requests.ts'
import { type HttpResponse, send } from './send.ts'

export type BackgroundApp = Awaited<ReturnType<typeof startBackgroundApp>>

/**
 * The service with a scriptable chat server as the model `m`, a model `gone` whose server cannot be reached, and one customer. `worker`: the real worker runs in this process. Otherwise
 * responses move by `tick` alone, and the clock is moved by hand in either case. `plan`: limits of the customers' plan.
 */
export async function startBackgroundApp({
  worker = true,
  plan = '',
  beside,
  budget,
}: {
  worker?: boolean
  plan?: string
  budget?: ByteBudget
  beside?: { app: TestApp; upstream: ChatUpstream; person: TestPerson }
} = {}) {
  const service = await startChatService([MODEL, GONE], { background: worker, beside, budget, more: more(plan) })
  const { app } = service
  const person = beside?.person ?? (await newCustomer(app))
  const meter = openMeter(app.ctx.db)
  return {
    ...service,
    person,
    /** Submits a background response. */
    submit(changes: Record<string, unknown> = {}, caller: TestPerson = person): Promise<HttpResponse> {
      const body = { model: 'm', input: 'Hello', background: true, ...changes }
      return send(app, 'POST', '/v1/responses', { key: caller.key }, body)
    },
    call: (method: string, path: string, caller: TestPerson = person): Promise<HttpResponse> =>
      send(app, method, `/v1/responses/${path}`, { key: caller.key }),
    /** The response once it has ended. */
    async ended(id: string): Promise<ResponseObject> {
      await readStream(app, person, `${id}?stream=true`)
      return (await send(app, 'GET', `/v1/responses/${id}`, { key: person.key })).body
    },
    /** Its events, from the first or after a number, once it has ended. */
    async events(id: string, after?: number): Promise<ResponseEvent[]> {
      const from = after === undefined ? '' : `&starting_after=${after}`
      return readEvents(await readStream(app, person, `${id}?stream=true${from}`))
    },
    /** Runs every response that has not ended once, in place of the worker. Throws what a run throws, without releasing its claim. */
    tick: () => tick(app, meter),
    async close() {
      await meter.close()
      await service.close()
    },
  }
}

const MODEL = { id: 'm', context_length: 100_000, capabilities: ['vision', 'tools', 'reasoning', 'structured_outputs'] }
/** Nothing listens on this port, which is reserved. */
const GONE = { id: 'gone', engine: { base_url: 'http://127.0.0.1:1/v1' } }
/** Responses of one organization that run at a time. */
export const SHARE = 8
const more = (plan: string) => `
plans: { free: {${plan}}, bare: { chat_models: [] }, few: { max_background_responses: 2 } }
limits: { pipeline_concurrency: ${SHARE} }
`

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
    if (claimed)
      await runClaimed(
        ctx,
        { meter, storage: openStorageGate(ctx.db), lengths: openContextLengths() },
        claimed,
        new AbortController().signal,
      )
  }
}
