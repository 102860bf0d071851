import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { isRecord } from '../../../../server/platform/json/record.ts'
import type { Reply } from './exchange.ts'
import type { Fault } from './faults.ts'
import { jsonReply } from './renders.ts'

/** What engines and the gateways before them do that no documentation names, each as a fault for any request of any dialect. */

type Json = Record<string, unknown>

/** The dialect's own JSON, changed. */
export function changed(change: (json: Json) => unknown): Fault {
  return { kind: 'answer', answer: (_, carryOut) => withJson(carryOut(), change) }
}

/** JSON in place of the dialect's own, with status 200 unless another is given. The request takes no effect. */
export function instead(json: unknown, status = 200): Fault {
  return { kind: 'answer', answer: () => jsonReply(status, json) }
}

/** A page of HTML in place of the reply, as proxies send. The request takes no effect. */
export function page(status: number): Fault {
  return { kind: 'status', status, body: '<html><body>502 Bad Gateway</body></html>', headers: HTML }
}

/** In an envelope, as gateways put around everything: `{code, message, data}`. */
export function wrapped(outer: Json = { code: 'success', message: '' }): Fault {
  return changed((json) => ({ ...outer, data: json }))
}

/** The render's status word, wherever the dialect has it, with these members beside it. */
export function withStatus(word: unknown, beside: Json = {}): Fault {
  return changed((json) => inView(json, (view) => ({ ...view, status: word, ...beside })))
}

/** These members beside the render's status. */
export function beside(members: Json): Fault {
  return changed((json) => inView(json, (view) => ({ ...view, ...members })))
}

/** The render's id in another place or shape; everything else of the reply stays. `shape` is given the id. */
export function withId(shape: (id: string) => unknown): Fault {
  return changed((json) => {
    const id = String(json.id ?? json.task_id ?? json.request_id)
    const made = shape(id)
    return Array.isArray(made)
      ? made
      : { ...without(json, ['id', 'task_id', 'request_id', 'status']), ...(made as Json) }
  })
}

/** Under a name of a coding: the bytes are coded where it is a real one. */
export function coded(name: string): Fault {
  return {
    kind: 'answer',
    answer(_, carryOut) {
      const { status, headers, body } = carryOut()
      return { status, headers: { ...headers, 'content-encoding': name }, body: CODERS[name]?.(body) ?? body }
    },
  }
}

/** With these headers on the reply. */
export function withHeaders(more: Record<string, string>): Fault {
  return {
    kind: 'answer',
    answer(_, carryOut) {
      const { headers, ...reply } = carryOut()
      return { ...reply, headers: { ...headers, ...more } }
    },
  }
}

/** Bytes that are nothing, under this type. */
export function noise(type: string): Fault {
  return {
    kind: 'answer',
    answer: () => ({ status: 200, headers: { 'content-type': type }, body: Buffer.from('noise '.repeat(1000)) }),
  }
}

/** Redirected to the same place, or to `to`. The request takes no effect there and is expected again. */
export function redirected(status: number, to?: string): Fault {
  return {
    kind: 'answer',
    answer: ({ path }) => ({ status, headers: { location: to ?? path }, body: Buffer.from('moved') }),
  }
}

/** JSON that names the requested URL in place of what is there. The next request for it is answered. */
export function named(shape: (url: string) => unknown): Fault {
  return {
    kind: 'answer',
    answer: ({ headers, path }) => jsonReply(200, shape(`http://${headers.host}${path}`)),
  }
}

/** JSON that holds the bytes of the reply. */
export function encoded(shape: (base64: string) => unknown): Fault {
  return { kind: 'answer', answer: (_, carryOut) => jsonReply(200, shape(carryOut().body.toString('base64'))) }
}

const HTML = { 'content-type': 'text/html' }

const CODERS: Record<string, (body: Buffer) => Buffer> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
}

function withJson(reply: Reply, change: (json: Json) => unknown): Reply {
  const json = JSON.parse(reply.body.toString()) as Json
  return { ...jsonReply(reply.status, change(json)), headers: reply.headers }
}

/** The object of a view that holds the status. */
function inView(json: Json, change: (view: Json) => Json): Json {
  for (const name of ['task', 'data']) {
    const inner = json[name]
    if (json.status === undefined && isRecord(inner)) return { ...json, [name]: inView(inner, change) }
  }
  return change(json)
}

function without(json: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(json).filter(([name]) => !names.includes(name)))
}
