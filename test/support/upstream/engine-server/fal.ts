import type { ReceivedRequest, Reply } from './exchange.ts'
import { clipReply, type DialectRoutes, jsonReply, type Render, type Renders, stageOf, withExtra } from './renders.ts'

/**
 * fal's queue below `/fal`. A render ends well when the conduct's status is null; otherwise its result is answered with that HTTP status
 * and the conduct's error as the body. Every GET of the status counts as a poll.
 */
export function falRoutes(store: Renders): DialectRoutes {
  return (request) => {
    const [path = ''] = request.path.split('?')
    if (!path.startsWith('/fal/')) return null
    const [, id = '', action] = /\/requests\/([^/]+)(\/status|\/cancel|\/clip\.mp4)?$/.exec(path) ?? []
    if (id === '') return request.method === 'POST' ? jsonReply(200, begun(request, store.begin(request))) : null
    const render = store.renders.get(id)
    if (render === undefined) return jsonReply(404, { status: 'NOT_FOUND' })
    if (action === '/status') return status(request, render)
    if (action === '/clip.mp4') return clipReply(render)
    if (action === '/cancel') return request.method === 'PUT' ? cancel(render) : null
    return result(request, render)
  }
}

function begun(request: ReceivedRequest, render: Render): Record<string, unknown> {
  const [owner, app] = request.path.slice('/fal/'.length).split('/')
  const own = `http://${request.headers.host}/fal/${owner}/${app}/requests/${render.id}`
  return withExtra(render, {
    status: 'IN_QUEUE',
    request_id: render.id,
    response_url: own,
    status_url: `${own}/status`,
    cancel_url: `${own}/cancel`,
    queue_position: 0,
  })
}

function status(request: ReceivedRequest, render: Render): Reply {
  const stage = stageOf(render)
  render.polled += 1
  const word = { queued: 'IN_QUEUE', running: 'IN_PROGRESS', canceled: 'COMPLETED', ended: 'COMPLETED' }[stage]
  const ended = word === 'COMPLETED'
  return jsonReply(ended ? 200 : 202, { ...begun(request, render), status: word })
}

function cancel(render: Render): Reply {
  if (stageOf(render) === 'ended') return jsonReply(400, { status: 'ALREADY_COMPLETED' })
  if (!render.conduct.ignores_cancel) render.canceled = true
  return jsonReply(202, { status: 'CANCELLATION_REQUESTED' })
}

function result(request: ReceivedRequest, render: Render): Reply {
  const { conduct } = render
  const stage = stageOf(render)
  if (stage === 'canceled') return jsonReply(499, { detail: 'Request was cancelled' })
  if (stage !== 'ended') return jsonReply(400, { detail: 'Request is still in progress' })
  if (conduct.status !== null) return jsonReply(Number(conduct.status), conduct.error)
  const url = `http://${request.headers.host}${request.path}/clip.mp4`
  const video = { url, content_type: 'video/mp4', file_name: 'clip.mp4', file_size: conduct.output.length }
  return jsonReply(200, { video, seed: 7 })
}
