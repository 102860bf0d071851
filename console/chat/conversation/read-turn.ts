import type { TurnView } from '../../../server/conversations/schema.ts'
import {
  type AssistantMessage,
  type Attachment,
  type AttachmentKind,
  type Message,
  newAnswer,
  type ToolCall,
  type Turn,
} from './conversation.ts'

type Item = TurnView['input'][number]
type Part = Extract<Item, { type: 'message' }>['content'][number]

/** A stored response as messages. `key` names them in the page; `reasoning_ms` was measured while it streamed. */
export function readTurn(view: TurnView, key: string, reasoning_ms: number | null): Turn {
  const { id, previous_response_id, status, charge, model, input, output, error, request_id } = view
  const reason = view.incomplete_details?.reason ?? null
  const ended = status !== 'queued' && status !== 'in_progress'
  const answer: AssistantMessage = {
    ...newAnswer(model, key),
    ...contentOf(output),
    reasoning_ms,
    items: status === 'completed' || status === 'incomplete' ? output : null,
    status: ended ? STATUSES[status] : 'streaming',
    incomplete: reason === 'cancelled' ? null : reason,
    failure: error && { status: 502, code: error.code, param: error.param, request_id },
    response_id: id,
    cost: charge?.amount ?? null,
    tokens: charge && {
      input: charge.input_tokens,
      cached_input: charge.cached_input_tokens,
      output: charge.output_tokens,
      reasoning: charge.reasoning_tokens,
    },
  }
  // A call that was cut off cannot be answered.
  if (status !== 'completed') answer.tool_calls = []
  const messages = [...readInput(input, { model, key }), answer]
  return { id, previous_response_id, status, cost: answer.cost, messages }
}

const STATUSES = { completed: 'done', incomplete: 'done', failed: 'failed', cancelled: 'stopped' } as const

/** The input of a response: questions, results, and where the history was edited its answers too. */
function readInput(items: readonly Item[], { model, key }: { model: string; key: string }): Message[] {
  const messages: Message[] = []
  let answered: Item[] = []
  const endAnswer = () => {
    if (answered.length === 0) return
    const id = `${key}.${messages.length}`
    messages.push({ ...newAnswer(model, id), ...contentOf(answered), status: 'done' })
    answered = []
  }
  for (const item of items) {
    const id = `${key}.${messages.length + (answered.length > 0 ? 1 : 0)}`
    if (item.type === 'message' && item.role === 'user') {
      endAnswer()
      messages.push({ id, role: 'user', text: textOf(item.content), attachments: filesOf(item.content) })
    } else if (item.type === 'function_call_output') {
      endAnswer()
      messages.push({ id, role: 'tool', call_id: item.call_id, output: outputText(item.output) })
    } else answered.push(item)
  }
  endAnswer()
  return messages
}

/** What items of an answer show. */
function contentOf(items: readonly Item[]): Pick<AssistantMessage, 'text' | 'refusal' | 'reasoning' | 'tool_calls'> {
  const tool_calls: ToolCall[] = []
  let [text, refusal, reasoning] = ['', '', '']
  for (const item of items) {
    if (item.type === 'message') {
      text += textOf(item.content)
      for (const part of item.content) if (part.type === 'refusal') refusal += part.refusal
    } else if (item.type === 'reasoning') reasoning += item.summary.map((part) => part.text).join('')
    else if (item.type === 'function_call') {
      const { call_id, name, arguments: given } = item
      tool_calls.push({ call_id, name, arguments: given })
    }
  }
  return { text, refusal, reasoning, tool_calls }
}

function textOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('')
}

function filesOf(parts: readonly Part[]): Attachment[] {
  return parts.flatMap((part, i): Attachment[] => {
    if (part.type !== 'input_image' && part.type !== 'input_file') return []
    const { file_id = '' } = part
    const inline = part.type === 'input_image' ? part.image_url : undefined
    const name = part.type === 'input_file' ? (part.filename ?? '') : ''
    return [
      {
        id: String(i),
        kind: part.type === 'input_image' ? 'image' : kindOfName(name),
        name,
        size_bytes: null,
        source: inline === undefined ? { from: 'file', file_id } : { from: 'data', url: inline },
      },
    ]
  })
}

/** Sent files have only their names. */
function kindOfName(name: string): AttachmentKind {
  if (/\.pdf$/i.test(name)) return 'pdf'
  if (/\.(mp4|mov|webm|mkv|avi|m4v|mpe?g)$/i.test(name)) return 'video'
  return /\.(mp3|wav|m4a|ogg|oga|flac|aac|opus)$/i.test(name) ? 'audio' : 'text'
}

function outputText(output: Extract<Item, { type: 'function_call_output' }>['output']): string {
  return typeof output === 'string' ? output : textOf(output)
}
