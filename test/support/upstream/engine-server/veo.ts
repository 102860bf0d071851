import type { ReceivedRequest, Reply } from './exchange.ts'
import { clipReply, type DialectRoutes, jsonReply, type Render, type Renders, stageOf, withExtra } from './renders.ts'

/**
 * Google's long-running operations below `/v1beta`, as Veo has them. A render that the conduct ends with a status is answered with its
 * error. A clip is downloaded with the API key in the query.
 */
export function veoRoutes(store: Renders): DialectRoutes {
  return (request) => {
    const [path = '', query = ''] = request.path.split('?')
    if (!path.startsWith('/v1beta/')) return null
    const [, model] = /^\/v1beta\/models\/([^/:]+):predictLongRunning$/.exec(path) ?? []
    if (model !== undefined && request.method === 'POST')
      return jsonReply(200, { name: `models/${model}/operations/${store.begin(request).id}` })
    const [, file] = /^\/v1beta\/files\/([^/:]+):download$/.exec(path) ?? []
    if (file !== undefined) return download(store.renders.get(file), query)
    const [, id = ''] = /^\/v1beta\/models\/[^/]+\/operations\/([^/]+)$/.exec(path) ?? []
    const render = store.renders.get(id)
    if (render === undefined) return jsonReply(404, { error: { code: 404, message: 'Not found', status: 'NOT_FOUND' } })
    render.polled += 1
    return jsonReply(200, view(request, path.slice('/v1beta/'.length), render))
  }
}

function view({ headers }: ReceivedRequest, name: string, render: Render): Record<string, unknown> {
  const { id, conduct } = render
  if (stageOf(render) !== 'ended') return withExtra(render, { name })
  if (conduct.status !== null) return withExtra(render, { name, done: true, error: conduct.error })
  const uri = `http://${headers.host}/v1beta/files/${id}:download?alt=media`
  return withExtra(render, {
    name,
    done: true,
    response: { generateVideoResponse: { generatedSamples: [{ video: { uri } }] } },
  })
}

function download(render: Render | undefined, query: string): Reply {
  const isAllowed = new URLSearchParams(query).get('key') === 'secret-key'
  return render === undefined || !isAllowed ? jsonReply(403, {}) : clipReply(render)
}
