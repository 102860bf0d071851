import { setTimeout as pause } from 'node:timers/promises'
import { type HttpResponse, send } from '../../test/support/http/send.ts'

/** What clients were promised, and what went wrong beyond what a proxy with a dead node behind it may answer. */
export type Acknowledged = {
  /** Ids of video jobs and background responses whose creation was answered with 200. */
  videos: Set<string>
  responses: Set<string>
  /** Requests whose chat answer came whole, by `x-request-id`. */
  chats: Set<string>
  wrong: string[]
  /** Answers by status, and `cut` for connections that ended early. */
  answers: Map<string, number>
}

type Caller = { url: string; key: string }

/** Statuses that a client repeats: the proxy's own, and a service that cannot work now. */
const AGAIN = new Set([429, 502, 503, 504])

/** Starts clients that repeat what failed as the official clients do; `stop` lets each end what it has begun. */
export function startLoad(caller: Caller, { each }: { each: number }): { seen: Acknowledged; stop(): Promise<void> } {
  const seen: Acknowledged = {
    videos: new Set(),
    responses: new Set(),
    chats: new Set(),
    wrong: [],
    answers: new Map(),
  }
  const stopping = new AbortController()
  const loops = [watchOneVideo, watchOneResponse, chat, streamChat].flatMap((work, kind) =>
    Array.from({ length: each }, async (_, n) => {
      for (let i = 0; !stopping.signal.aborted; i++) {
        await work(caller, seen, `${kind}-${n}-${i}`).catch((error: unknown) => seen.wrong.push(String(error)))
        await pause(PAUSE_MS)
      }
    }),
  )
  return {
    seen,
    async stop() {
      stopping.abort()
      await Promise.all(loops)
    },
  }
}

/** Two cores carry two services, the database and everybody else: the load is to meet each moment, not to fill the machine. */
const PAUSE_MS = 50

/** Submits, follows to the end through whichever node answers, and reads the clip once it is said to be there. */
async function watchOneVideo(caller: Caller, seen: Acknowledged, name: string): Promise<void> {
  const body = { model: 'outside-1', prompt: `A boat, number ${name}`, seconds: 4, aspect_ratio: '16:9' }
  const { body: created } = await callUntilAnswered(caller, seen, 'POST', '/v1/videos', body, {
    'idempotency-key': name,
  })
  seen.videos.add(created.id)
  const ended = await follow(caller, seen, `/v1/videos/${created.id}`, ['completed', 'failed', 'canceled'])
  if (ended.status !== 'completed') seen.wrong.push(`${created.id} ${ended.status} ${JSON.stringify(ended.error)}`)
  else await readContentUntilAnswered(caller, seen, created.id)
}

async function watchOneResponse(caller: Caller, seen: Acknowledged, name: string): Promise<void> {
  const body = { model: 'sandbox-1', input: `Say hello to number ${name}.`, background: true, store: true }
  const { body: created } = await callUntilAnswered(caller, seen, 'POST', '/v1/responses', body)
  seen.responses.add(created.id)
  const path = `/v1/responses/${created.id}`
  const ended = await follow(caller, seen, path, ['completed', 'failed', 'incomplete', 'cancelled'])
  if (ended.status !== 'completed') seen.wrong.push(`${created.id} ${ended.status}`)
}

async function chat(caller: Caller, seen: Acknowledged, name: string): Promise<void> {
  const body = { model: 'sandbox-1', messages: [{ role: 'user', content: `Hello, ${name}` }] }
  const { headers } = await callUntilAnswered(caller, seen, 'POST', '/v1/chat/completions', body)
  seen.chats.add(headers.get('x-request-id')!)
}

/** A stream that is cut is not repeated: what was produced is paid for. */
async function streamChat({ url, key }: Caller, seen: Acknowledged, name: string): Promise<void> {
  const body = { model: 'sandbox-1', messages: [{ role: 'user', content: `Hello, ${name}` }], stream: true }
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    count(seen, String(response.status))
    const text = await response.text()
    if (response.status !== 200) return void requireRetryable(seen, response.status, `stream: ${text}`)
    const finished = /"finish_reason":"stop"/.test(text) && text.trimEnd().endsWith('data: [DONE]')
    if (finished && !text.includes('"error"')) seen.chats.add(response.headers.get('x-request-id')!)
  } catch {
    count(seen, 'cut')
  }
}

/** Repeats a request until it is answered by the service itself. */
async function callUntilAnswered(
  { url, key }: Caller,
  seen: Acknowledged,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<HttpResponse> {
  for (;;) {
    try {
      const answer = await send({ url }, method, path, { key, headers }, body)
      count(seen, String(answer.status))
      if (answer.status === 200) return answer
      if (!AGAIN.has(answer.status) && answer.status !== 409) {
        throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
      }
    } catch (error) {
      if (error instanceof Error && /^(GET|POST) /.test(error.message)) throw error
      count(seen, 'cut')
    }
    await pause(200)
  }
}

async function follow(
  caller: Caller,
  seen: Acknowledged,
  path: string,
  ends: readonly string[],
): Promise<HttpResponse['body']> {
  for (;;) {
    const { body } = await callUntilAnswered(caller, seen, 'GET', path)
    if (ends.includes(body.status)) return body
    await pause(300)
  }
}

/** A clip that one node called completed is there on every other one. */
async function readContentUntilAnswered({ url, key }: Caller, seen: Acknowledged, id: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/v1/videos/${id}/content`, { headers: { authorization: `Bearer ${key}` } })
      .then(async (response) => ({ status: response.status, bytes: (await response.arrayBuffer()).byteLength }))
      .catch(() => ({ status: 0, bytes: 0 }))
    count(seen, answer.status === 0 ? 'cut' : String(answer.status))
    if (answer.status === 200 && answer.bytes > 0) return
    if (answer.status !== 0 && !AGAIN.has(answer.status)) throw new Error(`content of ${id}: ${answer.status}`)
    await pause(200)
  }
}

function requireRetryable(seen: Acknowledged, status: number, words: string): void {
  if (!AGAIN.has(status)) seen.wrong.push(`${status} ${words.slice(0, 300)}`)
}

function count(seen: Acknowledged, what: string): void {
  seen.answers.set(what, (seen.answers.get(what) ?? 0) + 1)
}
