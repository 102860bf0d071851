import { setTimeout as pause } from 'node:timers/promises'
import { bearer, type HttpResponse, send } from '../../test/support/http/send.ts'

export const KINDS = ['job', 'response', 'chat', 'stream'] as const
export type Kind = (typeof KINDS)[number]

/** What clients were promised, what they saw, and what went wrong beyond what a proxy with a dead node behind it may answer. */
export type Seen = {
  /** Ids of video jobs and background responses whose creation was answered with 200. */
  videos: Set<string>
  responses: Set<string>
  /** Requests whose chat answer came whole, by `x-request-id`. */
  chats: Set<string>
  wrong: string[]
  /** Answers by status, `cut` for connections that ended early, `given up` for requests that a client waited for too long. */
  answers: Map<string, number>
  /** The longest that a client waited for one request. */
  longest_ms: number
  /** What was done to its end, with every repetition on the way; by `performance.now()`. */
  done: Array<{ kind: Kind; began: number; ended: number }>
}

type Target = { url: string; key: string; patience_ms: number; pause_ms: number }
/** `end`: it gives up what it has begun. */
type Client = Target & { end: AbortSignal }

/** `stop` has each client end what it has begun; what is not done within `seconds_max` is given up, and wrong. */
export type Load = { seen: Seen; stop(seconds_max: number): Promise<void> }

/** Statuses that a client repeats: the proxy's own, and a service that cannot work now. */
const AGAIN = new Set([429, 502, 503, 504])

/**
 * Starts `each` clients of every kind. They repeat what failed as the official clients do. `name` is part of their idempotency keys.
 * `patience_ms`: for how long they wait for one request. `pause_ms`: how long after one piece of work they begin the next.
 */
export function startLoad(target: Target, { each, name }: { each: number; name: string }): Load {
  const seen: Seen = {
    videos: new Set(),
    responses: new Set(),
    chats: new Set(),
    wrong: [],
    answers: new Map(),
    longest_ms: 0,
    done: [],
  }
  const [stopping, ending] = [new AbortController(), new AbortController()]
  const client = { ...target, end: ending.signal }
  const works = { job: watchOneVideo, response: watchOneResponse, chat, stream: streamChat }
  const loops = KINDS.flatMap((kind) =>
    Array.from({ length: each }, async (_, n) => {
      for (let i = 0; !stopping.signal.aborted; i++) {
        const began = performance.now()
        const isDone = await works[kind](client, seen, `${name}-${kind}-${n}-${i}`).catch((error: unknown) => {
          seen.wrong.push(ending.signal.aborted ? `${kind} ${n}-${i} did not end` : String(error))
        })
        if (isDone) seen.done.push({ kind, began, ended: performance.now() })
        await pause(target.pause_ms)
      }
    }),
  )
  return {
    seen,
    async stop(seconds_max) {
      stopping.abort()
      const late = setTimeout(() => ending.abort(), seconds_max * 1000)
      await Promise.all(loops)
      clearTimeout(late)
    },
  }
}

/** Submits, follows to the end through whichever node answers, and reads the clip once it is said to be there. */
async function watchOneVideo(client: Client, seen: Seen, name: string): Promise<boolean> {
  const body = { model: 'outside-1', prompt: `A boat, number ${name}`, seconds: 4, aspect_ratio: '16:9' }
  const { body: created } = await callUntilAnswered(client, seen, 'POST', '/v1/videos', body, {
    'idempotency-key': name,
  })
  seen.videos.add(created.id)
  const ended = await follow(client, seen, `/v1/videos/${created.id}`, ['completed', 'failed', 'canceled'])
  if (ended.status === 'completed') await readContentUntilAnswered(client, seen, created.id)
  else seen.wrong.push(`${created.id} ${ended.status} ${JSON.stringify(ended.error)}`)
  return true
}

async function watchOneResponse(client: Client, seen: Seen, name: string): Promise<boolean> {
  const body = { model: 'sandbox-1', input: `Say hello to number ${name}.`, background: true, store: true }
  const { body: created } = await callUntilAnswered(client, seen, 'POST', '/v1/responses', body)
  seen.responses.add(created.id)
  const path = `/v1/responses/${created.id}`
  const ended = await follow(client, seen, path, ['completed', 'failed', 'incomplete', 'cancelled'])
  if (ended.status !== 'completed') seen.wrong.push(`${created.id} ${ended.status}`)
  return true
}

async function chat(client: Client, seen: Seen, name: string): Promise<boolean> {
  const body = { model: 'sandbox-1', messages: [{ role: 'user', content: `Hello, ${name}` }] }
  const { headers } = await callUntilAnswered(client, seen, 'POST', '/v1/chat/completions', body)
  seen.chats.add(headers.get('x-request-id')!)
  return true
}

/** A stream that is cut is not repeated: what was produced is paid for. */
async function streamChat(client: Client, seen: Seen, name: string): Promise<boolean> {
  const body = { model: 'sandbox-1', messages: [{ role: 'user', content: `Hello, ${name}` }], stream: true }
  const answer = await waited(client, seen, (signal) =>
    send(client, 'POST', '/v1/chat/completions', { key: client.key, signal }, body),
  )
  if (answer === null) return false
  const { status, text } = answer
  if (status !== 200) {
    if (!AGAIN.has(status)) seen.wrong.push(`${status} stream: ${text.slice(0, 300)}`)
    return false
  }
  const finished = /"finish_reason":"stop"/.test(text) && text.trimEnd().endsWith('data: [DONE]')
  if (!finished || text.includes('"error"')) return false
  seen.chats.add(answer.headers.get('x-request-id')!)
  return true
}

/** Repeats a request until it is answered by the service itself. */
async function callUntilAnswered(
  client: Client,
  seen: Seen,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<HttpResponse> {
  for (;;) {
    const answer = await waited(client, seen, (signal) =>
      send(client, method, path, { key: client.key, headers, signal }, body),
    )
    if (answer?.status === 200) return answer
    if (answer !== null && !AGAIN.has(answer.status) && answer.status !== 409)
      throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`)
    await pause(200, undefined, { signal: client.end })
  }
}

async function follow(
  client: Client,
  seen: Seen,
  path: string,
  ends: readonly string[],
): Promise<HttpResponse['body']> {
  for (;;) {
    const { body } = await callUntilAnswered(client, seen, 'GET', path)
    if (ends.includes(body.status)) return body
    await pause(300, undefined, { signal: client.end })
  }
}

/** A clip that one node called completed is there on every other one. */
async function readContentUntilAnswered(client: Client, seen: Seen, id: string): Promise<void> {
  for (;;) {
    const answer = await waited(client, seen, async (signal) => {
      const response = await fetch(`${client.url}/v1/videos/${id}/content`, { headers: bearer(client.key), signal })
      return { status: response.status, bytes: (await response.arrayBuffer()).byteLength }
    })
    if (answer?.status === 200 && answer.bytes > 0) return
    if (answer !== null && !AGAIN.has(answer.status)) throw new Error(`content of ${id}: ${answer.status}`)
    await pause(200, undefined, { signal: client.end })
  }
}

/** What a request was answered with, counted; null when its connection ended, or its client waited for too long. */
async function waited<T extends { status: number }>(
  { patience_ms }: Client,
  seen: Seen,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const began = performance.now()
  const signal = AbortSignal.timeout(patience_ms)
  const answer = await call(signal).catch(() => null)
  seen.longest_ms = Math.max(seen.longest_ms, performance.now() - began)
  const what = answer ? String(answer.status) : signal.aborted ? 'given up' : 'cut'
  seen.answers.set(what, (seen.answers.get(what) ?? 0) + 1)
  return answer
}
