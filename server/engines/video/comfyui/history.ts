import { asRecord } from '../../../platform/json/record.ts'
import { EngineError } from '../../engine-error.ts'
import { meaningOfText } from '../../error-words.ts'
import type { JsonValue, RenderState } from '../contract.ts'

/** A file that ComfyUI has written, as `/view` finds it. */
export type OutputFile = { filename: string; subfolder: string; type: string }

/** What became of a render, from its entry in the history. Read leniently: nodes report their files under names of their own. */
export function historyState(entry: Record<string, unknown>, output_node: string | undefined): RenderState {
  const status = asRecord(entry.status) ?? {}
  if (status.status_str === 'error' || status.completed === false)
    return { state: 'failed', error: executionError(status.messages) }
  const output = videoIn(asRecord(entry.outputs) ?? {}, output_node)
  if (output !== null) return { state: 'succeeded', output }
  const error = new EngineError('permanent', 'The workflow has saved no video.', { engine_code: 'no_video' })
  return { state: 'failed', error }
}

/** Why a start was refused with 400, when ComfyUI names a node; never its texts, which repeat what the node was given. */
export function nodeError(json: unknown): EngineError | null {
  const [found] = Object.entries(asRecord(asRecord(json)?.node_errors) ?? {})
  if (found === undefined) return null
  const [id, node] = found
  const errors = asRecord(node)?.errors
  const first = asRecord(Array.isArray(errors) ? errors[0] : null) ?? {}
  const engine_code = codeOf([first.type, id, asRecord(first.extra_info)?.input_name])
  return new EngineError('rejected', 'The engine refuses a node of the workflow.', { engine_code })
}

/** The file a render is fetched from; null when it is not one of ours. */
export function readOutputFile(output: JsonValue): OutputFile | null {
  const { filename, subfolder, type } = asRecord(output) ?? {}
  if (typeof filename !== 'string' || typeof subfolder !== 'string' || typeof type !== 'string') return null
  return { filename, subfolder, type }
}

/** Nothing is tried again but what somebody at ComfyUI has stopped: a failure would most likely repeat itself at full cost. */
function executionError(messages: unknown): EngineError {
  const found = new Map(
    (Array.isArray(messages) ? messages : []).filter(Array.isArray).map(([name, data]) => [name, data]),
  )
  if (found.has('execution_interrupted'))
    return new EngineError('transient', 'The render was interrupted at the engine.', { engine_code: 'interrupted' })
  const { exception_type, exception_message, node_id } = asRecord(found.get('execution_error')) ?? {}
  const out_of_memory = /OutOfMemory/.test(String(exception_type))
  const engine_code = codeOf([out_of_memory ? 'out_of_memory' : exception_type, node_id])
  // Nodes that call a hosted model report its content filter in words.
  if (typeof exception_message === 'string' && meaningOfText(exception_message) === 'moderation')
    return new EngineError('moderation', 'A node of the workflow reports a content filter.', { engine_code })
  return new EngineError('rejected', 'A node of the workflow has failed.', { engine_code })
}

function codeOf(parts: unknown[]): string | undefined {
  const code = parts.filter((part) => typeof part === 'string').join(':')
  return /^[\w.:-]{1,120}$/.test(code) ? code : undefined
}

/** The first video; one that was saved before one that is only a preview. */
function videoIn(outputs: Record<string, unknown>, output_node: string | undefined): OutputFile | null {
  const nodes = output_node === undefined ? Object.values(outputs) : [outputs[output_node]]
  const files = nodes
    .flatMap((node) => Object.values(asRecord(node) ?? {}))
    .flatMap((list) => (Array.isArray(list) ? list : []))
  const videos = files.flatMap((file): OutputFile[] => {
    const { filename, subfolder = '', type = 'output' } = asRecord(file) ?? {}
    if (typeof filename !== 'string' || !VIDEO_NAME.test(filename)) return []
    return typeof subfolder === 'string' && typeof type === 'string' ? [{ filename, subfolder, type }] : []
  })
  return videos.find(({ type }) => type === 'output') ?? videos[0] ?? null
}

const VIDEO_NAME = /\.(mp4|m4v|mov|webm|mkv|avi)$/i
