import type { ReceivedRequest, Reply } from './exchange.ts'
import { clipReply, type DialectRoutes, jsonReply, type Render, type Renders, stageOf, withExtra } from './renders.ts'

type Dialect = 'minimax' | 'ark'

/** MiniMax's `/v2/video_generation` and Ark's `/contents/generations/tasks`. A clip is at the URL of the latest poll alone: older ones have expired. */
export function contentTasksRoutes(store: Renders): DialectRoutes {
  return (request) => {
    const [path = '', query = ''] = request.path.split('?')
    const [, clip] = /\/clips\/([^/]+)\.mp4$/.exec(path) ?? []
    if (clip !== undefined) return clipAt(clip, query)
    const [, call, id] =
      /(\/v2\/(?:query\/)?video_generation|\/contents\/generations\/tasks)(?:\/([^/]+))?$/.exec(path) ?? []
    if (call === undefined) return null
    const dialect = call.startsWith('/v2') ? 'minimax' : 'ark'
    if (request.method === 'POST') return start(dialect, request)
    if (id === undefined) return list(dialect, request)
    const render = store.renders.get(id)
    if (render === undefined) return refusal(dialect, 404, { code: 'ResourceNotFound', number: 2013 })
    return request.method === 'DELETE' ? remove(dialect, render) : poll(dialect, request, render)
  }

  function clipAt(id: string, query: string): Reply {
    const render = store.renders.get(id)
    return render && query === `signed=${render.polled}` ? clipReply(render) : jsonReply(403, {})
  }

  function start(dialect: Dialect, request: ReceivedRequest): Reply {
    const { id } = store.begin(request)
    return jsonReply(200, dialect === 'minimax' ? { task_id: id } : { id })
  }

  function poll(dialect: Dialect, request: ReceivedRequest, render: Render): Reply {
    render.polled += 1
    const task = view(dialect, request, render)
    return jsonReply(200, dialect === 'minimax' ? { task } : task)
  }

  function list(dialect: Dialect, request: ReceivedRequest): Reply {
    const query = new URL(request.path, 'http://engine').searchParams
    const size = Number(query.get('page_size') ?? 20)
    const begin = (Number(query.get('page_num') ?? 1) - 1) * size
    const all = store.listed(dialect === 'minimax' ? /\/v2\/video_generation$/ : /\/contents\/generations\/tasks$/)
    const items = all.slice(begin, begin + size).map((render) => view(dialect, request, render))
    return jsonReply(200, { total: all.length, items })
  }

  function remove(dialect: Dialect, render: Render): Reply {
    const stage = stageOf(render)
    if (stage === 'running' || stage === 'canceled')
      return refusal(dialect, dialect === 'minimax' ? 400 : 409, { code: 'InvalidAction', number: 2013 })
    if (stage === 'ended') store.renders.delete(render.id)
    else if (!render.conduct.ignores_cancel) render.canceled = true
    return jsonReply(200, {})
  }
}

function view(dialect: Dialect, { headers }: ReceivedRequest, render: Render): Record<string, unknown> {
  const { id, json, conduct, polled, created_at } = render
  const stage = stageOf(render)
  const status = stage === 'ended' ? (conduct.status ?? 'succeeded') : STATUSES[stage]
  const base = { id, status, created_at, updated_at: created_at + polled }
  if (dialect === 'minimax' && stage === 'queued') return withExtra(render, base)
  const { model, duration, ratio = '16:9', resolution, seed } = json as Record<string, unknown>
  const url = `http://${headers.host}/clips/${id}.mp4?signed=${polled}`
  const content = dialect === 'minimax' ? { url } : { video_url: url }
  return withExtra(render, {
    ...base,
    model,
    duration,
    ratio,
    resolution,
    ...(dialect === 'minimax' ? { task_type: 'generation', modality: 'video' } : { seed, framespersecond: 24 }),
    ...(status === 'succeeded' ? { content } : {}),
    ...(stage === 'ended' && conduct.error !== null ? { error: conduct.error } : {}),
  })
}

const STATUSES = { queued: 'queued', running: 'running', canceled: 'cancelled' } as const

function refusal(dialect: Dialect, status: number, { code, number }: { code: string; number: number }): Reply {
  if (dialect === 'ark')
    return jsonReply(status, { error: { code, message: 'The task cannot be used.', type: 'BadRequest' } })
  const error = { type: 'bad_request_error', message: `invalid params (${number})`, http_code: String(status) }
  return jsonReply(status, { type: 'error', error, request_id: 'request_1' })
}
