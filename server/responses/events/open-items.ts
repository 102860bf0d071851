import type { TokenLogprob } from '../../engines/chat/contract.ts'
import type { ToolOrigin } from '../request/tools.ts'
import type { CustomToolCall, FunctionCall, OutputItem, OutputMessage, Reasoning } from '../schema/items.ts'
import type { OutputText, Refusal, TokenLogprobView } from '../schema/parts.ts'
import { inputReader } from './custom-input.ts'
import { objectEnd } from './object-end.ts'
import { wellFormed } from './well-formed.ts'

/** Tells one event: its type, and the JSON of its members without the braces. */
export type Tell = (type: string, members: string) => void

/** How an item ends: `incomplete` when the answer was cut off within it. */
export type Ending = 'completed' | 'incomplete'

/** Where an item stands in the response. */
export type Place = { id: string; output_index: number }

/** An item under way: `added` is told when it is opened, `done` when it is closed; deltas cost one `JSON.stringify` of their text. */
export type OpenItem = {
  item: OutputItem
  close(ending: Ending): void
}

export type OpenMessage = OpenItem & {
  kind: 'message'
  say(part: 'output_text' | 'refusal', text: string, logprobs?: readonly TokenLogprob[]): void
}

/** A message opens its parts as they come: text, a refusal, or one after the other. */
export function openMessage(tell: Tell, { id, output_index }: Place): OpenMessage {
  const item: OutputMessage = { id, type: 'message', status: 'in_progress', role: 'assistant', content: [] }
  const told = addItem(tell, item, output_index)
  const whole = wellFormed()
  let part: OutputText | Refusal | null = null
  let text = ''
  let place = ''

  const openPart = (type: 'output_text' | 'refusal') => {
    part = emptyPart(type)
    text = ''
    place = `"item_id":"${id}","output_index":${output_index},"content_index":${item.content.length}`
    item.content.push(part)
    tell('response.content_part.added', `${place},"part":${JSON.stringify(part)}`)
  }

  const delta = (type: 'output_text' | 'refusal', piece: string, logprobs: readonly TokenLogprobView[]) => {
    text += piece
    const said = `${place},"delta":${JSON.stringify(piece)}`
    if (type === 'refusal') tell('response.refusal.delta', said)
    else tell('response.output_text.delta', `${said},"logprobs":${logprobs.length ? JSON.stringify(logprobs) : '[]'}`)
  }

  const closePart = () => {
    if (part === null) return
    const left = whole.rest()
    if (left !== '') delta(part.type, left, [])
    if (part.type === 'refusal') {
      part.refusal = text
      tell('response.refusal.done', `${place},"refusal":${JSON.stringify(text)}`)
    } else {
      part.text = text
      const logprobs = JSON.stringify(part.logprobs)
      tell('response.output_text.done', `${place},"text":${JSON.stringify(text)},"logprobs":${logprobs}`)
    }
    tell('response.content_part.done', `${place},"part":${JSON.stringify(part)}`)
    part = null
  }

  return {
    kind: 'message',
    item,
    say(type, spoken, given) {
      if (part?.type !== type) {
        closePart()
        openPart(type)
      }
      const piece = whole.take(spoken)
      const logprobs = given ? logprobViews(given) : []
      if (part?.type === 'output_text') for (const each of logprobs) part.logprobs.push(each)
      if (piece !== '' || logprobs.length > 0) delta(type, piece, logprobs)
    },
    close(ending) {
      closePart()
      told(ending)
    },
  }
}

function emptyPart(type: 'output_text' | 'refusal'): OutputText | Refusal {
  return type === 'refusal' ? { type, refusal: '' } : { type, text: '', annotations: [], logprobs: [] }
}

/** SDKs expect the bytes of a token in any case. */
function logprobViews(logprobs: readonly TokenLogprob[]): TokenLogprobView[] {
  const withBytes = <T extends { bytes: number[] | null }>(each: T) => ({ ...each, bytes: each.bytes ?? [] })
  return logprobs.map((each) => ({ ...withBytes(each), top_logprobs: each.top_logprobs.map(withBytes) }))
}

/**
 * What of the model's reasoning is shown: a summary when the request asks for one, the raw text where the operator allows it, sealed
 * for the client to send back when it asks for that.
 */
export type Showing = { summary: boolean; raw: boolean; seal: ((text: string) => string) | null }

export type OpenReasoning = OpenItem & { kind: 'reasoning'; think(text: string): void }

export function openReasoning(tell: Tell, { id, output_index }: Place, showing: Showing): OpenReasoning {
  const item: Reasoning = { id, type: 'reasoning', status: 'in_progress', summary: [] }
  const told = addItem(tell, item, output_index)
  const whole = wellFormed()
  const place = `"item_id":"${id}","output_index":${output_index}`
  const summary = `${place},"summary_index":0`
  const raw = `${place},"content_index":0`
  let thought = ''

  if (showing.summary) {
    const part = { type: 'summary_text' as const, text: '' }
    item.summary.push(part)
    tell('response.reasoning_summary_part.added', `${summary},"part":${JSON.stringify(part)}`)
  }
  if (showing.raw) {
    const part = { type: 'reasoning_text' as const, text: '' }
    item.content = [part]
    tell('response.content_part.added', `${raw},"part":${JSON.stringify(part)}`)
  }

  const think = (piece: string) => {
    if (piece === '') return
    thought += piece
    if (!showing.summary && !showing.raw) return
    const delta = `,"delta":${JSON.stringify(piece)}`
    if (showing.summary) tell('response.reasoning_summary_text.delta', summary + delta)
    if (showing.raw) tell('response.reasoning_text.delta', raw + delta)
  }

  return {
    kind: 'reasoning',
    item,
    think: (text) => think(whole.take(text)),
    close(ending) {
      think(whole.rest())
      const text = `,"text":${JSON.stringify(thought)}`
      for (const part of item.summary) {
        part.text = thought
        tell('response.reasoning_summary_text.done', summary + text)
        tell('response.reasoning_summary_part.done', `${summary},"part":${JSON.stringify(part)}`)
      }
      for (const part of item.content ?? []) {
        part.text = thought
        tell('response.reasoning_text.done', raw + text)
        tell('response.content_part.done', `${raw},"part":${JSON.stringify(part)}`)
      }
      if (showing.seal) item.encrypted_content = showing.seal(thought)
      told(ending)
    },
  }
}

export type OpenCall = OpenItem & {
  kind: 'call'
  call: number
  pass(argumentsText: string): void
  /** Whether the arguments are a whole object, so that no more of them are to be expected. */
  isWhole(): boolean
}

export function openCall(
  tell: Tell,
  place: Place,
  made: { call: number; call_id: string; tool: ToolOrigin },
): OpenCall {
  const { id, output_index } = place
  const { call_id, tool } = made
  const head = { id, status: 'in_progress' as const, call_id, name: tool.name }
  const space = tool.namespace === undefined ? {} : { namespace: tool.namespace }
  const item: FunctionCall | CustomToolCall =
    tool.kind === 'custom'
      ? { ...head, type: 'custom_tool_call', input: '', ...space }
      : { ...head, type: 'function_call', arguments: '', ...space }
  const told = addItem(tell, item, output_index)
  const event = tool.kind === 'custom' ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  const delta = `"item_id":"${id}","output_index":${output_index},"delta":`
  const reader = tool.kind === 'custom' ? inputReader() : null
  const whole = wellFormed()
  const end = objectEnd()
  let passed = ''
  let shown = ''

  const show = (piece: string) => {
    if (piece === '') return
    shown += piece
    tell(`${event}.delta`, delta + JSON.stringify(piece))
  }

  return {
    kind: 'call',
    call: made.call,
    item,
    pass(argumentsText) {
      passed += argumentsText
      show(whole.take(reader ? reader.take(argumentsText) : argumentsText))
    },
    isWhole: () => end.isWhole(passed),
    close(ending) {
      show(whole.take(reader?.rest() ?? '') + whole.rest())
      const name = item.type === 'custom_tool_call' ? 'input' : 'arguments'
      if (item.type === 'custom_tool_call') item.input = shown
      else item.arguments = shown
      tell(`${event}.done`, `"item_id":"${id}","output_index":${output_index},"${name}":${JSON.stringify(shown)}`)
      told(ending)
    },
  }
}

/** Tells `added`; what it returns tells `done`. */
function addItem(
  tell: Tell,
  item: Exclude<OutputItem, { type: 'compaction' }>,
  output_index: number,
): (ending: Ending) => void {
  tell('response.output_item.added', `"output_index":${output_index},"item":${JSON.stringify(item)}`)
  return (ending) => {
    item.status = ending
    tell('response.output_item.done', `"output_index":${output_index},"item":${JSON.stringify(item)}`)
  }
}
