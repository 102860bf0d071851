import { readFileSync } from 'node:fs'
import type { ReceivedRequest, Reply } from './exchange.ts'

/** How a render goes: polls answered with a running status, then the end. A render that `ignores_cancel` completes all the same. */
export type Conduct = {
  polls: number
  status: string
  error: unknown
  output: Buffer
  ignores_cancel: boolean
  /** Members added to every view of the render. */
  extra: Record<string, unknown>
  /** Members left out of every view. */
  omit: string[]
}

export type Render = {
  id: string
  fields: Record<string, string>
  conduct: Conduct
  polled: number
  canceled: boolean
  created_at: number
}

/** The `/v1/videos` routes of the OpenAI shape, which SGLang and vLLM-Omni share; requests in JSON or multipart. */
export function renderStore() {
  const renders = new Map<string, Render>()
  let count = 0
  let now = () => Date.now()
  let current: Conduct = {
    polls: 0,
    status: 'completed',
    error: null,
    output: clip(),
    ignores_cancel: false,
    extra: {},
    omit: [],
  }

  function route(request: ReceivedRequest): Reply {
    const [, id, content] = /\/videos(?:\/([^/?]+))?(\/content)?(?:\?|$)/.exec(request.path) ?? []
    if (!request.path.includes('/videos')) return json(404, { error: { message: 'Not Found' } })
    if (id === undefined) return request.method === 'POST' ? start(request) : list(request)
    const render = renders.get(id)
    if (render === undefined) return json(404, { error: { code: 'not_found', message: `Video ${id} not found` } })
    if (request.method === 'DELETE') {
      if (!render.conduct.ignores_cancel) render.canceled = true
      return json(200, { id, object: 'video.deleted', deleted: true })
    }
    if (content !== undefined)
      return { status: 200, headers: { 'content-type': 'video/mp4' }, body: render.conduct.output }
    render.polled += 1
    return json(200, view(render))
  }

  function start(request: ReceivedRequest): Reply {
    count += 1
    const render = {
      id: `video_${count}`,
      fields: fieldsOf(request),
      conduct: current,
      polled: 0,
      canceled: false,
      created_at: Math.floor(now() / 1000),
    }
    renders.set(render.id, render)
    return json(200, view(render))
  }

  function list(request: ReceivedRequest): Reply {
    const query = new URL(request.path, 'http://engine').searchParams
    const all = [...renders.values()].reverse()
    const begin = all.findIndex(({ id }) => id === query.get('after')) + 1
    const limit = Number(query.get('limit') ?? 20)
    const data = all.slice(begin, begin + limit).map(view)
    return json(200, { object: 'list', data, last_id: data.at(-1)?.id ?? null, has_more: begin + limit < all.length })
  }

  return {
    renders,
    route,
    started: () => count,
    /** Where the creation times of renders come from, in milliseconds. */
    setClock(clock: () => number) {
      now = clock
    },
    conduct(conduct: Partial<Conduct>) {
      current = { ...current, ...conduct }
    },
  }
}

function view({ id, fields, conduct, polled, canceled, created_at }: Render): Record<string, unknown> {
  const running = polled <= conduct.polls
  const status = canceled ? 'cancelled' : polled === 0 ? 'queued' : running ? 'in_progress' : conduct.status
  const whole: Record<string, unknown> = {
    id,
    object: 'video',
    status,
    progress: running ? Math.min(99, polled * 10) : 100,
    created_at,
    model: fields.model,
    prompt: fields.prompt,
    seconds: fields.seconds,
    size: fields.size,
    error: running ? null : conduct.error,
    ...conduct.extra,
  }
  for (const name of conduct.omit) delete whole[name]
  return whole
}

/** Text fields of a JSON or multipart body; a file counts as its size in bytes. */
export function fieldsOf({ headers, body, json: parsed }: ReceivedRequest): Record<string, string> {
  if (typeof parsed === 'object' && parsed !== null)
    return Object.fromEntries(
      Object.entries(parsed).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
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

function json(status: number, value: unknown): Reply {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) }
}

function clip(): Buffer {
  return readFileSync(new URL('../../../../server/engines/video/instant.mp4', import.meta.url))
}
