import { readFileSync } from 'node:fs'
import type { ReceivedRequest, Reply } from './exchange.ts'

/** How a render goes: polls answered with a running status, then the end. A render that `ignores_cancel` completes all the same. */
export type Conduct = {
  polls: number
  /** Its status at the end, in the words of the dialect it was begun in; null is success. */
  status: string | null
  error: unknown
  output: Buffer
  ignores_cancel: boolean
  /** Begins the ids of the next renders. */
  id_prefix: string
  /** Members added to every view of the render. */
  extra: Record<string, unknown>
  /** Members left out of every view. */
  omit: string[]
}

export type Render = {
  id: string
  /** Where its start was sent, without the query. */
  path: string
  fields: Record<string, string>
  /** The parsed body of its start. */
  json: unknown
  conduct: Conduct
  polled: number
  canceled: boolean
  /** In seconds. */
  created_at: number
}

/** The renders of an engine, whatever dialect it speaks, and how the next ones go. */
export type Renders = {
  renders: Map<string, Render>
  /** Begins a render; `id` when the client chose it. */
  begin(request: ReceivedRequest, id?: string): Render
  /** Renders that were begun at such a path, newest first: engines of several dialects may share the server. */
  listed(path: RegExp): Render[]
  /** Renders begun so far, also those forgotten since. */
  started(): number
  setClock(now: () => number): void
  conduct(conduct: Partial<Conduct>): void
}

/** Answers the requests of one dialect, and null to any other. */
export type DialectRoutes = (request: ReceivedRequest) => Reply | null

export function renderStore(): Renders {
  const renders = new Map<string, Render>()
  let count = 0
  let now = () => Date.now()
  let current: Conduct = {
    polls: 0,
    status: null,
    error: null,
    output: readFileSync(new URL('../../../../server/engines/video/instant.mp4', import.meta.url)),
    ignores_cancel: false,
    id_prefix: 'video_',
    extra: {},
    omit: [],
  }
  return {
    renders,
    begin(request, id) {
      count += 1
      const render = {
        id: id ?? `${current.id_prefix}${count}`,
        path: request.path.split('?')[0]!,
        fields: fieldsOf(request),
        json: request.json,
        conduct: current,
        polled: 0,
        canceled: false,
        created_at: Math.floor(now() / 1000),
      }
      renders.set(render.id, render)
      return render
    },
    listed: (path) => [...renders.values()].filter((render) => path.test(render.path)).reverse(),
    started: () => count,
    setClock(clock) {
      now = clock
    },
    conduct(conduct) {
      current = { ...current, ...conduct }
    },
  }
}

/** Where a render is: `queued` until it is first polled. */
export function stageOf({ conduct, polled, canceled }: Render): 'queued' | 'running' | 'canceled' | 'ended' {
  if (canceled) return 'canceled'
  if (polled === 0) return 'queued'
  return polled <= conduct.polls ? 'running' : 'ended'
}

/** A view with what the conduct adds and leaves out. */
export function withExtra({ conduct }: Render, view: Record<string, unknown>): Record<string, unknown> {
  const whole = { ...view, ...conduct.extra }
  for (const name of conduct.omit) delete whole[name]
  return whole
}

export function jsonReply(status: number, value: unknown): Reply {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) }
}

export function clipReply({ conduct }: Render): Reply {
  return { status: 200, headers: { 'content-type': 'video/mp4' }, body: conduct.output }
}

/** Text fields of a JSON or multipart body; a file counts as its size in bytes. */
export function fieldsOf({ headers, body, json }: ReceivedRequest): Record<string, string> {
  if (typeof json === 'object' && json !== null)
    return Object.fromEntries(
      Object.entries(json).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    )
  const boundary = /boundary=("?)([^";]+)\1/.exec(headers['content-type'] ?? '')?.[2]
  if (boundary === undefined) return {}
  const parts = body.toString('latin1').split(`--${boundary}`).slice(1, -1)
  return Object.fromEntries(
    parts.map((part) => {
      const end = part.indexOf('\r\n\r\n')
      const head = part.slice(0, end)
      const value = Buffer.from(part.slice(end + 4, -2), 'latin1')
      const name = /name="([^"]*)"/.exec(head)?.[1] ?? ''
      return [name, head.includes('filename=') ? `${value.length} bytes` : value.toString('utf8')]
    }),
  )
}
