import type { ReceivedRequest, Reply } from './exchange.ts'
import { clipReply, type DialectRoutes, jsonReply, type Render, type Renders, stageOf, withExtra } from './renders.ts'

/** The `/v1/videos` routes of the OpenAI shape, which SGLang and vLLM-Omni share; requests in JSON or multipart. */
export function videosApiRoutes(store: Renders): DialectRoutes {
  return (request) => {
    if (!request.path.includes('/videos')) return null
    const [, id, content] = /\/videos(?:\/([^/?]+))?(\/content)?(?:\?|$)/.exec(request.path) ?? []
    if (id === undefined) return request.method === 'POST' ? jsonReply(200, view(store.begin(request))) : list(request)
    const render = store.renders.get(id)
    if (render === undefined) return jsonReply(404, { error: { code: 'not_found', message: `Video ${id} not found` } })
    if (request.method === 'DELETE') {
      if (!render.conduct.ignores_cancel) render.canceled = true
      return jsonReply(200, { id, object: 'video.deleted', deleted: true })
    }
    if (content !== undefined) return clipReply(render)
    render.polled += 1
    return jsonReply(200, view(render))
  }

  function list(request: ReceivedRequest): Reply {
    const query = new URL(request.path, 'http://engine').searchParams
    const all = store.listed(/\/videos$/)
    const begin = all.findIndex(({ id }) => id === query.get('after')) + 1
    const limit = Number(query.get('limit') ?? 20)
    const data = all.slice(begin, begin + limit).map(view)
    const last_id = data.at(-1)?.id ?? null
    return jsonReply(200, { object: 'list', data, last_id, has_more: begin + limit < all.length })
  }
}

function view(render: Render): Record<string, unknown> {
  const { id, fields, conduct, polled, created_at } = render
  const stage = stageOf(render)
  const running = polled <= conduct.polls
  const ended = conduct.status ?? 'completed'
  return withExtra(render, {
    id,
    object: 'video',
    status: { queued: 'queued', running: 'in_progress', canceled: 'cancelled', ended }[stage],
    progress: running ? Math.min(99, polled * 10) : 100,
    created_at,
    model: fields.model,
    prompt: fields.prompt,
    seconds: fields.seconds,
    size: fields.size,
    error: running ? null : conduct.error,
  })
}
