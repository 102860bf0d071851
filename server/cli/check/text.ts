import type { ChatCompletion } from '../../chat/schema.ts'
import type { ResponseObject } from '../../responses/schema/response.ts'
import { CAUSES, expect } from './failure.ts'
import { OUTPUT_TOKENS } from './quote.ts'
import { type Arrival, arrivalsOf, eventsOf, inPieces } from './stream.ts'
import type { Target } from './target.ts'

/** For a model that thinks first, or waits for a free place. */
export const MODEL_SECONDS = 300

const PROMPT = 'Write the numbers from one to forty in words.'

/** The body of a response that asks the same of `model`. */
export function responseBody(model: string): { model: string; input: string; max_output_tokens: number } {
  return { model, input: PROMPT, max_output_tokens: OUTPUT_TOKENS }
}

function chatBody(model: string) {
  return { model, messages: [{ role: 'user', content: PROMPT }], max_completion_tokens: OUTPUT_TOKENS }
}

/** A plain chat completion. Throws StepFailure. */
export async function checkChat({ ask }: Target, model: string): Promise<string> {
  const path = '/v1/chat/completions'
  const { choices, usage } = await ask<ChatCompletion>('POST', path, {
    body: chatBody(model),
    seconds: MODEL_SECONDS,
  })
  const sent = `POST ${path}, ${model}`
  expect(typeof choices?.[0]?.finish_reason === 'string', {
    sent,
    received: 'no complete choice',
    cause: CAUSES.foreign,
  })
  return `${model}, ${usage?.completion_tokens ?? 0} tokens`
}

/** A streamed chat completion, and that nothing on the way gathers it. Throws StepFailure. */
export async function checkStream(target: Target, model: string): Promise<string> {
  const body = { ...chatBody(model), stream: true, stream_options: { include_usage: true } }
  const arrivals = await stream(target, '/v1/chat/completions', body)
  const events = arrivals.flatMap(({ events }) => events).length
  if (inPieces(arrivals)) return `${events} events in ${arrivals.length} pieces`
  await expectUnbuffered(target, model)
  return `${events} events; the model sends them together, and no proxy does`
}

/**
 * A model may send its text in one piece, but not `response.created` of a background response: the service sends it before it asks the
 * model. When it comes with the text, and does so again, something on the way has kept it. Throws StepFailure.
 */
async function expectUnbuffered(target: Target, model: string): Promise<void> {
  for (const last of [false, true]) {
    const body = { ...responseBody(model), background: true, stream: true }
    const [first, ...others] = await stream(target, '/v1/responses', body)
    const started = first!.events.some(({ type }) => type === 'response.created')
    const withText = [first!, ...others]
      .filter(({ at_seconds }) => at_seconds - first!.at_seconds < SAME_MOMENT_SECONDS)
      .some(({ events }) =>
        events.some(({ type }) => /^response\.output_|^response\.(completed|incomplete)$/.test(type)),
      )
    if (started && !withText) return
    expect(!last, {
      sent: 'POST /v1/responses, streamed in the background',
      received: `response.created together with the text that followed, after ${first!.at_seconds.toFixed(1)} s`,
      cause: CAUSES.buffering,
    })
  }
}

/** What a proxy sends at once arrives within. */
const SAME_MOMENT_SECONDS = 0.005

/** Reads a stream to its end. A response that it creates is deleted. Throws StepFailure. */
async function stream(target: Target, path: string, body: object): Promise<Arrival[]> {
  const sent = `POST ${path}, streamed`
  const arrivals: Arrival[] = []
  const created = new Set<string>()
  await target.within(MODEL_SECONDS, sent, async (signal) => {
    const headers = { 'content-type': 'application/json' }
    const started = performance.now()
    const response = await target.api.send('POST', path, { headers, body: JSON.stringify(body), signal })
    const type = response.headers.get('content-type')
    expect(type?.startsWith('text/event-stream') === true, { sent, received: `${type}`, cause: CAUSES.foreign })
    for await (const arrival of arrivalsOf(response, started)) {
      arrivals.push(arrival)
      for (const { response } of arrival.events) if (response) created.add(`/v1/responses/${response.id}`)
      for (const path of created) target.created(path)
    }
  })
  const events = eventsOf(arrivals)
  const failed = events.find(({ error, response }) => error ?? response?.error)
  const error = failed?.error ?? failed?.response?.error
  expect(!error, { sent, received: `${error?.code}: ${error?.message}`, cause: CAUSES.engine })
  expect(events.at(-1)?.type === 'done', {
    sent,
    received: `a stream that ended after ${events.length} events without its end mark`,
    cause: 'The connection was cut off: a time limit of the proxy, or a process that ended.',
  })
  for (const path of created) await target.remove(path)
  return arrivals
}

/** A response that is stored, read and deleted. Throws StepFailure. */
export async function checkResponse(target: Target, model: string): Promise<string> {
  const body = { ...responseBody(model), store: true }
  const made = await target.ask<ResponseObject>('POST', '/v1/responses', { body, seconds: MODEL_SECONDS })
  const path = `/v1/responses/${made.id}`
  target.created(path)
  const read = await target.ask<ResponseObject>('GET', path)
  expect(JSON.stringify(read.output) === JSON.stringify(made.output), {
    sent: `GET ${path}`,
    received: 'another output than the one that was stored',
    cause: 'A cache on the way answers in place of Kinora.',
  })
  await target.remove(path)
  return `${made.status}, stored, read and deleted`
}
