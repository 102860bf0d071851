import type { ReceivedRequest, Reply } from './exchange.ts'
import { clipReply, type DialectRoutes, jsonReply, type Render, type Renders, stageOf, withExtra } from './renders.ts'

/** How many predictions a page of the list has. */
const PAGE = 100

/** Replicate's predictions below `/replicate/v1`. */
export function replicateRoutes(store: Renders): DialectRoutes {
  const models = new Map<string, string>()

  return (request) => {
    const [path = ''] = request.path.split('?')
    if (!path.startsWith('/replicate/v1/')) return null
    const rest = path.slice('/replicate/v1'.length)
    const [, model] = /^\/models\/([^/]+\/[^/]+)\/predictions$/.exec(rest) ?? []
    if (request.method === 'POST' && (model !== undefined || rest === '/predictions')) {
      const render = store.begin(request)
      const { version } = (request.json ?? {}) as { version?: string }
      models.set(render.id, model ?? version ?? '')
      return jsonReply(201, view(request, render))
    }
    if (rest === '/predictions') return list(request)
    const [, id = '', action] = /^\/predictions\/([^/]+)(\/cancel|\/clip\.mp4)?$/.exec(rest) ?? []
    const render = store.renders.get(id)
    if (render === undefined)
      return jsonReply(404, { detail: 'The requested resource could not be found.', status: 404 })
    if (action === '/clip.mp4') return clipReply(render)
    if (action === '/cancel') {
      if (!render.conduct.ignores_cancel && stageOf(render) !== 'ended') render.canceled = true
      return jsonReply(200, view(request, render))
    }
    render.polled += 1
    return jsonReply(200, view(request, render))
  }

  function view(request: ReceivedRequest, render: Render): Record<string, unknown> {
    const { id, conduct, created_at, json } = render
    const stage = stageOf(render)
    const ended = conduct.status ?? 'succeeded'
    const own = `http://${request.headers.host}/replicate/v1/predictions/${id}`
    const [model = '', version = 'hidden'] = models.get(id)?.split(':') ?? []
    return withExtra(render, {
      id,
      model,
      version,
      source: 'api',
      data_removed: false,
      input: (json as { input?: unknown } | undefined)?.input ?? {},
      output: stage === 'ended' && ended === 'succeeded' ? `${own}/clip.mp4` : null,
      error: stage === 'ended' ? conduct.error : null,
      status: { queued: 'starting', running: 'processing', canceled: 'canceled', ended }[stage],
      created_at: new Date(created_at * 1000).toISOString(),
      urls: { get: own, cancel: `${own}/cancel` },
    })
  }

  function list(request: ReceivedRequest): Reply {
    const begin = Number(new URL(request.path, 'http://engine').searchParams.get('cursor') ?? 0)
    const all = store.listed(/\/predictions$/)
    const next =
      begin + PAGE < all.length
        ? `http://${request.headers.host}/replicate/v1/predictions?cursor=${begin + PAGE}`
        : null
    const results = all.slice(begin, begin + PAGE).map((render) => view(request, render))
    return jsonReply(200, { previous: null, next, results })
  }
}
