import type { ChatEvent } from '../../engines/chat/contract.ts'
import { ApiError } from '../../platform/errors.ts'
import { callId, itemId, type OutputKind } from '../ids.ts'
import type { ToolOrigin } from '../request/tools.ts'
import type { ResponseObject } from '../schema/response.ts'
import {
  type Emit,
  emitExtraContent,
  type FinalStatus,
  type OpenCall,
  type OpenMessage,
  type OpenReasoning,
  openCall,
  openMessage,
  openReasoning,
  type ReasoningView,
} from './open-items.ts'

/** The events of an engine that add to an item. */
export type Delta = Exclude<ChatEvent, { type: 'finishing' | 'finish' | 'choice-usage' | 'end' }>

/** The items of one answer, one open at a time. */
export type OutputItems = {
  append(delta: Delta): void
  /** Closes everything. A `completed` answer without text and calls gets an empty message. */
  finish(status: FinalStatus): void
  /** Closes the open item as `incomplete` and drops what was deferred. */
  abandon(): void
}

type Open = OpenMessage | OpenReasoning | OpenCall

/**
 * Puts the deltas of a model in order, item after item; each item is in `response.output` from the moment it is emitted. Of calls that
 * arrive interleaved, the later ones are deferred, with everything after them, until the arguments of the open call are a complete object
 * or the answer ends. `tools` are the client's tools by the names the model knows.
 */
export function outputItems(
  response: Pick<ResponseObject, 'id' | 'output'>,
  emit: Emit,
  { tools, reasoning_view }: { tools: ReadonlyMap<string, ToolOrigin>; reasoning_view: ReasoningView },
): OutputItems {
  let open: Open | null = null
  let deferred: Delta[] = []
  const closedCalls = new Set<number>()
  const callIds = new Set<string>()

  const nextPlace = (kind: OutputKind) => {
    const output_index = response.output.length
    return { id: itemId(response.id, kind, output_index), output_index }
  }

  const openFor = (delta: Delta): Open => {
    if (delta.type === 'reasoning-delta') return openReasoning(emit, nextPlace('rs'), reasoning_view)
    if (delta.type !== 'tool-call-delta') return openMessage(emit, nextPlace('msg'))
    const { name = '', id, call } = delta
    const tool = tools.get(name) ?? { kind: 'function', name }
    const place = nextPlace(tool.kind === 'custom' ? 'ctc' : 'fc')
    const call_id = callId(response.id, place.output_index, id !== undefined && callIds.has(id) ? undefined : id)
    callIds.add(call_id)
    return openCall(emit, place, { call, call_id, tool })
  }

  const close = (status: FinalStatus): void => {
    if (open?.kind === 'call') closedCalls.add(open.call)
    open?.close(status)
    open = null
  }

  const append = (delta: Delta): void => {
    if (isEmpty(delta) || (delta.type === 'tool-call-delta' && closedCalls.has(delta.call))) return
    if (open === null || !belongsTo(open, delta)) {
      if (isUnfinishedCall(open)) return void deferred.push(delta)
      close('completed')
      open = openFor(delta)
      response.output.push(open.item)
    }
    appendTo(open, delta)
    if (deferred.length > 0 && !isUnfinishedCall(open)) appendDeferred('completed')
  }

  /** Closes the open item and appends what was deferred. Its first call opens then, so that less is deferred each time. */
  const appendDeferred = (status: FinalStatus): void => {
    close(status)
    const deltas = deferred
    deferred = []
    for (const delta of deltas) append(delta)
  }

  return {
    append,
    finish(status) {
      while (deferred.length > 0) appendDeferred(status)
      close(status)
      const { seal } = reasoning_view
      const extra = response.output.flatMap((item) => ('call_id' in item && item.extra_content ? [item] : []))
      if (seal !== null && status === 'completed' && extra.length > 0) {
        const kept = Object.fromEntries(extra.map(({ call_id, extra_content }) => [call_id, extra_content]))
        response.output.push(emitExtraContent(emit, nextPlace('rs'), seal(JSON.stringify(kept), 'calls')))
      }
      if (status === 'incomplete' || response.output.some(({ type }) => type !== 'reasoning')) return
      const message = openMessage(emit, nextPlace('msg'))
      response.output.push(message.item)
      message.appendText('output_text', '')
      message.close(status)
    },
    abandon() {
      deferred = []
      close('incomplete')
    },
  }
}

/** The one item of a compaction: the text of the model is its summary. `finish` throws ApiError when there is none. */
export function compactionItem(
  response: Pick<ResponseObject, 'id' | 'output'>,
  emit: Emit,
  seal: (text: string) => string,
): OutputItems {
  let summary = ''
  return {
    append(delta) {
      if (delta.type === 'text-delta') summary += delta.text
    },
    finish() {
      if (summary.trim() === '') throw noSummary()
      const item = { id: itemId(response.id, 'cmp', 0), type: 'compaction' as const, encrypted_content: seal(summary) }
      response.output.push(item)
      for (const event of ['added', 'done']) {
        emit(`response.output_item.${event}`, `"output_index":0,"item":${JSON.stringify(item)}`)
      }
    },
    abandon() {},
  }
}

export function noSummary(): ApiError {
  return new ApiError('upstream_error', 'The model wrote no summary. Try again, or with another model.')
}

function isEmpty(delta: Delta): boolean {
  return (
    delta.type !== 'tool-call-delta' && delta.text === '' && !(delta.type === 'text-delta' && delta.logprobs?.length)
  )
}

function isUnfinishedCall(open: Open | null): boolean {
  return open?.kind === 'call' && !open.isComplete()
}

function belongsTo(open: Open, delta: Delta): boolean {
  if (delta.type === 'reasoning-delta') return open.kind === 'reasoning'
  if (delta.type === 'tool-call-delta') return open.kind === 'call' && open.call === delta.call
  return open.kind === 'message'
}

function appendTo(open: Open, delta: Delta): void {
  if (open.kind === 'message') {
    if (delta.type === 'text-delta') open.appendText('output_text', delta.text, delta.logprobs)
    else if (delta.type === 'refusal-delta') open.appendText('refusal', delta.text)
  } else if (open.kind === 'reasoning') {
    if (delta.type === 'reasoning-delta') open.appendReasoning(delta.text)
  } else if (delta.type === 'tool-call-delta') {
    if (delta.extra_content) open.item.extra_content = delta.extra_content
    open.appendArguments(delta.arguments)
  }
}
