import type { TokenLogprob } from '../../engines/chat/contract.ts'
import type { ToolOrigin } from '../request/tools.ts'
import type { CustomToolCall, FunctionCall, OutputItem, OutputMessage, Reasoning } from '../schema/items.ts'
import type { OutputText, Refusal, TokenLogprobView } from '../schema/parts.ts'
import { customInputDecoder, objectEndScanner } from './text-deltas.ts'

/** Emits one event: its type, and the JSON of its members without the braces. */
export type Emit = (type: string, members: string) => void

/** The status of an item that is closed: `incomplete` when the answer was cut off within it. */
export type FinalStatus = 'completed' | 'incomplete'

/** The id of an item and its place in `response.output`. */
export type ItemPlace = { id: string; output_index: number }

/** An item that still grows: opening it emits `added`, closing it emits `done`; a delta costs one `JSON.stringify` of its text. */
export type OpenItem = {
  item: OutputItem
  close(status: FinalStatus): void
}

export type OpenMessage = OpenItem & {
  kind: 'message'
  appendText(part: 'output_text' | 'refusal', text: string, logprobs?: readonly TokenLogprob[]): void
}

/** A message opens a part when the first of its text arrives: text, a refusal, or one after the other. */
export function openMessage(emit: Emit, { id, output_index }: ItemPlace): OpenMessage {
  const item: OutputMessage = { id, type: 'message', status: 'in_progress', role: 'assistant', content: [] }
  const emitDone = emitAdded(emit, item, output_index)
  let part: OutputText | Refusal | null = null
  let text = ''
  let place = ''

  const openPart = (type: 'output_text' | 'refusal') => {
    part = emptyPart(type)
    text = ''
    place = `"item_id":"${id}","output_index":${output_index},"content_index":${item.content.length}`
    item.content.push(part)
    emit('response.content_part.added', `${place},"part":${JSON.stringify(part)}`)
  }

  const delta = (type: 'output_text' | 'refusal', piece: string, logprobs: readonly TokenLogprobView[]) => {
    text += piece
    const members = `${place},"delta":${JSON.stringify(piece)}`
    if (type === 'refusal') emit('response.refusal.delta', members)
    else
      emit('response.output_text.delta', `${members},"logprobs":${logprobs.length ? JSON.stringify(logprobs) : '[]'}`)
  }

  const closePart = () => {
    if (part === null) return
    if (part.type === 'refusal') {
      part.refusal = text
      emit('response.refusal.done', `${place},"refusal":${JSON.stringify(text)}`)
    } else {
      part.text = text
      const logprobs = JSON.stringify(part.logprobs)
      emit('response.output_text.done', `${place},"text":${JSON.stringify(text)},"logprobs":${logprobs}`)
    }
    emit('response.content_part.done', `${place},"part":${JSON.stringify(part)}`)
    part = null
  }

  return {
    kind: 'message',
    item,
    appendText(type, piece, given) {
      if (part?.type !== type) {
        closePart()
        openPart(type)
      }
      const logprobs = given ? logprobViews(given) : []
      if (part?.type === 'output_text') for (const each of logprobs) part.logprobs.push(each)
      if (piece !== '' || logprobs.length > 0) delta(type, piece, logprobs)
    },
    close(status) {
      closePart()
      emitDone(status)
    },
  }
}

function emptyPart(type: 'output_text' | 'refusal'): OutputText | Refusal {
  return type === 'refusal' ? { type, refusal: '' } : { type, text: '', annotations: [], logprobs: [] }
}

/** SDKs expect `bytes` to be an array. */
function logprobViews(logprobs: readonly TokenLogprob[]): TokenLogprobView[] {
  const withBytes = <T extends { bytes: number[] | null }>(each: T) => ({ ...each, bytes: each.bytes ?? [] })
  return logprobs.map((each) => ({ ...withBytes(each), top_logprobs: each.top_logprobs.map(withBytes) }))
}

/**
 * How the model's reasoning is shown: as a summary when the request asks for one, as raw text where the operator allows it, and
 * encrypted, for the client to send back, when the request asks for that.
 */
export type ReasoningView = { summary: boolean; raw: boolean; seal: Seal | null }
type Seal = (text: string, purpose: 'reasoning' | 'calls') => string

export type OpenReasoning = OpenItem & { kind: 'reasoning'; appendReasoning(text: string): void }

export function openReasoning(emit: Emit, { id, output_index }: ItemPlace, view: ReasoningView): OpenReasoning {
  const item: Reasoning = { id, type: 'reasoning', status: 'in_progress', summary: [] }
  const emitDone = emitAdded(emit, item, output_index)
  const place = `"item_id":"${id}","output_index":${output_index}`
  const summary = `${place},"summary_index":0`
  const raw = `${place},"content_index":0`
  let reasoning = ''

  if (view.summary) {
    const part = { type: 'summary_text' as const, text: '' }
    item.summary.push(part)
    emit('response.reasoning_summary_part.added', `${summary},"part":${JSON.stringify(part)}`)
  }
  if (view.raw) {
    const part = { type: 'reasoning_text' as const, text: '' }
    item.content = [part]
    emit('response.content_part.added', `${raw},"part":${JSON.stringify(part)}`)
  }

  return {
    kind: 'reasoning',
    item,
    appendReasoning(piece) {
      if (piece === '') return
      reasoning += piece
      if (!view.summary && !view.raw) return
      const delta = `,"delta":${JSON.stringify(piece)}`
      if (view.summary) emit('response.reasoning_summary_text.delta', summary + delta)
      if (view.raw) emit('response.reasoning_text.delta', raw + delta)
    },
    close(status) {
      const text = `,"text":${JSON.stringify(reasoning)}`
      for (const part of item.summary) {
        part.text = reasoning
        emit('response.reasoning_summary_text.done', summary + text)
        emit('response.reasoning_summary_part.done', `${summary},"part":${JSON.stringify(part)}`)
      }
      for (const part of item.content ?? []) {
        part.text = reasoning
        emit('response.reasoning_text.done', raw + text)
        emit('response.content_part.done', `${raw},"part":${JSON.stringify(part)}`)
      }
      if (view.seal) item.encrypted_content = view.seal(reasoning, 'reasoning')
      emitDone(status)
    },
  }
}

/**
 * What the model's server wants back with these calls, encrypted in an item of its own: clients that keep only what they know of a call
 * (Codex) send it back with the next request.
 */
export function emitExtraContent(emit: Emit, { id, output_index }: ItemPlace, encrypted_content: string): Reasoning {
  const item: Reasoning = { id, type: 'reasoning', status: 'in_progress', summary: [] }
  const emitDone = emitAdded(emit, item, output_index)
  item.encrypted_content = encrypted_content
  emitDone('completed')
  return item
}

export type OpenCall = OpenItem & {
  kind: 'call'
  item: FunctionCall | CustomToolCall
  call: number
  appendArguments(text: string): void
  /** Whether the arguments are a complete JSON object, so that no more of them are expected. */
  isComplete(): boolean
}

export function openCall(
  emit: Emit,
  place: ItemPlace,
  origin: { call: number; call_id: string; tool: ToolOrigin },
): OpenCall {
  const { id, output_index } = place
  const { call_id, tool } = origin
  const head = { id, status: 'in_progress' as const, call_id, name: tool.name }
  const space = tool.namespace === undefined ? {} : { namespace: tool.namespace }
  const item: FunctionCall | CustomToolCall =
    tool.kind === 'custom'
      ? { ...head, type: 'custom_tool_call', input: '', ...space }
      : { ...head, type: 'function_call', arguments: '', ...space }
  const emitDone = emitAdded(emit, item, output_index)
  const event = tool.kind === 'custom' ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  const delta = `"item_id":"${id}","output_index":${output_index},"delta":`
  const inputDecoder = tool.kind === 'custom' ? customInputDecoder() : null
  const scanner = objectEndScanner()
  let received = ''
  let emitted = ''

  const append = (piece: string) => {
    if (piece === '') return
    emitted += piece
    emit(`${event}.delta`, delta + JSON.stringify(piece))
  }

  return {
    kind: 'call',
    call: origin.call,
    item,
    appendArguments(text) {
      received += text
      append(inputDecoder ? inputDecoder.write(text) : text)
    },
    isComplete: () => scanner.isComplete(received),
    close(status) {
      append(inputDecoder?.end() ?? '')
      const name = item.type === 'custom_tool_call' ? 'input' : 'arguments'
      if (item.type === 'custom_tool_call') item.input = emitted
      else item.arguments = emitted
      emit(`${event}.done`, `"item_id":"${id}","output_index":${output_index},"${name}":${JSON.stringify(emitted)}`)
      emitDone(status)
    },
  }
}

/** Emits `added`, and returns what emits `done`. */
function emitAdded(
  emit: Emit,
  item: Exclude<OutputItem, { type: 'compaction' }>,
  output_index: number,
): (status: FinalStatus) => void {
  emit('response.output_item.added', `"output_index":${output_index},"item":${JSON.stringify(item)}`)
  return (status) => {
    item.status = status
    emit('response.output_item.done', `"output_index":${output_index},"item":${JSON.stringify(item)}`)
  }
}
