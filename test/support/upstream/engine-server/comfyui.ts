import { asRecord } from '../../../../server/platform/json/record.ts'
import type { ReceivedRequest, Reply } from './exchange.ts'
import { clipReply, type DialectRoutes, jsonReply, type Render, type Renders, stageOf, withExtra } from './renders.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * The routes of ComfyUI that an adapter calls. A render that was not yet asked about is pending, one that has ended is in the history.
 * `extra` and `omit` apply to its history entry. Files must have been uploaded before a node names them.
 */
export function comfyuiRoutes(store: Renders): DialectRoutes {
  const uploaded = new Set<string>()
  return (request) => {
    const { pathname, searchParams } = new URL(request.path, 'http://engine')
    const [, id] = /^\/history\/([^/]+)$/.exec(pathname) ?? []
    const call = `${request.method} ${id === undefined ? pathname : '/history'}`
    if (call === 'POST /upload/image') return upload(request)
    if (call === 'POST /prompt') return prompt(request)
    if (call === 'GET /history') return history(id!)
    if (call === 'GET /queue') return queue()
    if (call === 'POST /queue') return remove(request)
    if (call === 'POST /interrupt') return interrupt(request)
    if (call === 'GET /view') return view(searchParams.get('filename') ?? '')
    return null
  }

  function upload({ body }: ReceivedRequest): Reply {
    const text = body.toString('latin1')
    const name = /name="image"; filename="([^"]+)"/.exec(text)?.[1]
    if (name === undefined) return { status: 400, headers: {}, body: Buffer.alloc(0) }
    uploaded.add(name)
    return jsonReply(200, { name, subfolder: '', type: 'input' })
  }

  function prompt(request: ReceivedRequest): Reply {
    const { prompt, prompt_id } = asRecord(request.json) ?? {}
    if (typeof prompt_id !== 'string' || !UUID.test(prompt_id))
      return jsonReply(400, { error: { type: 'invalid_prompt_id', message: 'must be a UUID' }, node_errors: {} })
    for (const [id, node] of Object.entries(asRecord(prompt) ?? {})) {
      const named = Object.entries(asRecord(asRecord(node)?.inputs) ?? {})
      const [input] = named.find(([, value]) => isMissing(value)) ?? []
      if (input !== undefined) return refused(id, input)
    }
    store.begin(request, prompt_id)
    return jsonReply(200, { prompt_id, number: store.started(), node_errors: {} })
  }

  function isMissing(value: unknown): boolean {
    return typeof value === 'string' && value.startsWith('kinora-') && !uploaded.has(value)
  }

  function history(id: string): Reply {
    const render = store.renders.get(id)
    if (render === undefined) return jsonReply(200, {})
    render.polled += 1
    return jsonReply(200, isOver(render) ? { [id]: entryOf(render) } : {})
  }

  function queue(): Reply {
    const active = store
      .listed(/\/prompt$/)
      .reverse()
      .filter((render) => !isOver(render))
    const items = (stage: string) => active.filter((render) => stageOf(render) === stage).map(itemOf)
    return jsonReply(200, { queue_running: items('running'), queue_pending: items('queued') })
  }

  function remove({ json }: ReceivedRequest): Reply {
    const ids = asRecord(json)?.delete
    for (const id of Array.isArray(ids) ? ids : []) {
      const render = store.renders.get(id)
      if (render && stageOf(render) === 'queued' && !render.conduct.ignores_cancel) store.renders.delete(id)
    }
    return { status: 200, headers: {}, body: Buffer.alloc(0) }
  }

  function interrupt({ json }: ReceivedRequest): Reply {
    const render = store.renders.get(String(asRecord(json)?.prompt_id))
    if (render && stageOf(render) === 'running' && !render.conduct.ignores_cancel) render.canceled = true
    return { status: 200, headers: {}, body: Buffer.alloc(0) }
  }

  function view(filename: string): Reply {
    const render = store.renders.get(filename.replace(/^clip_|\.mp4$/g, ''))
    return render === undefined ? { status: 404, headers: {}, body: Buffer.alloc(0) } : clipReply(render)
  }
}

function isOver(render: Render): boolean {
  return stageOf(render) === 'ended' || stageOf(render) === 'canceled'
}

function itemOf(render: Render): unknown[] {
  return [0, render.id, asRecord(render.json)?.prompt ?? {}, { client_id: 'kinora' }, ['save']]
}

function entryOf(render: Render): Record<string, unknown> {
  const { id, conduct } = render
  const canceled = stageOf(render) === 'canceled'
  const failed = canceled || conduct.status === 'error'
  const start = ['execution_start', { prompt_id: id, timestamp: 0 }]
  const end = canceled
    ? ['execution_interrupted', { prompt_id: id, node_id: 'save', node_type: 'SaveVideo', executed: [] }]
    : failed
      ? ['execution_error', { prompt_id: id, ...asRecord(conduct.error) }]
      : ['execution_success', { prompt_id: id, timestamp: 1 }]
  const saved = { images: [{ filename: `clip_${id}.mp4`, subfolder: '', type: 'output' }], animated: [true] }
  return withExtra(render, {
    prompt: itemOf(render),
    outputs: failed ? {} : { save: saved },
    status: { status_str: failed ? 'error' : 'success', completed: !failed, messages: [start, end] },
    meta: {},
  })
}

function refused(id: string, input_name: string): Reply {
  const error = { type: 'custom_validation_failed', message: 'no such file', details: '', extra_info: { input_name } }
  return jsonReply(400, {
    error: { type: 'prompt_outputs_failed_validation', message: 'failed', details: '', extra_info: {} },
    node_errors: { [id]: { errors: [error], dependent_outputs: [], class_type: 'LoadImage' } },
  })
}
