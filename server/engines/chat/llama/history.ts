import type { ParsedArguments } from '../call-arguments.ts'
import type { ChatMessage, ChatPart, TextPart } from '../contract.ts'
import { joinInstructions } from '../system-messages.ts'
import type { HistoryItem, ModelPart } from './protocol.ts'
import { refusal } from './refuse.ts'

/**
 * The conversation as `node-llama-cpp` takes it: what the model wrote and its tools returned in a row is one item, each result with its call.
 * System messages are one item at the start, and messages of the user in a row one, unless they are to be separate.
 * Throws EngineError `rejected` for what a template of text cannot hold, naming the field.
 */
export function historyOf(
  messages: readonly ChatMessage[],
  calls: ParsedArguments,
  system_messages: 'merged' | 'separate' = 'merged',
): HistoryItem[] {
  const history: HistoryItem[] = []
  const instructions: string[] = []
  for (const [i, message] of messages.entries()) {
    const path = `messages[${i}]`
    if ('name' in message && message.name !== undefined)
      throw refusal(`${path}.name`, 'the templates of local models have no names')
    if (message.role === 'tool') {
      addResult(history, message.tool_call_id, { path, text: textOf(message.content, path) })
    } else if (message.role === 'assistant') {
      addModelParts(history, modelPartsOf(message, path, calls))
    } else {
      const text = textOf(message.content, path)
      const last = history.at(-1)
      if (message.role === 'user') {
        if (last?.type === 'user' && system_messages === 'merged') last.text += `\n\n${text}`
        else history.push({ type: 'user', text })
      } else if (system_messages === 'separate') history.push({ type: 'system', text })
      else instructions.push(text)
    }
  }
  const items = history.map(withoutIds)
  return instructions.length > 0 ? [{ type: 'system', text: joinInstructions(instructions) }, ...items] : items
}

/** A call knows its id until its result is found. */
type Call = Extract<ModelPart, { type: 'functionCall' }> & { id?: string }

function modelPartsOf(
  message: Extract<ChatMessage, { role: 'assistant' }>,
  path: string,
  inputs: ParsedArguments,
): ModelPart[] {
  const text = message.content === null ? '' : textOf(message.content, path)
  const written = text === '' ? (message.refusal ?? '') : text
  const calls = (message.tool_calls ?? []).map(
    (call, i): Call => ({
      type: 'functionCall',
      id: call.id,
      name: call.function.name,
      params: inputs.get(call),
      startsNewChunk: i === 0,
    }),
  )
  return [
    ...(message.reasoning
      ? [{ type: 'segment', segmentType: 'thought', text: message.reasoning, ended: true } as const]
      : []),
    ...(written === '' ? [] : [written]),
    ...calls,
  ]
}

function addModelParts(history: HistoryItem[], parts: ModelPart[]): void {
  const last = history.at(-1)
  if (last?.type === 'model') last.response.push(...parts)
  else history.push({ type: 'model', response: parts })
}

function addResult(history: HistoryItem[], id: string, { path, text }: { path: string; text: string }): void {
  const last = history.at(-1)
  const calls = last?.type === 'model' ? (last.response.filter((part) => typeof part === 'object') as Call[]) : []
  const call = calls.findLast((each) => each.type === 'functionCall' && each.id === id && !('result' in each))
  if (call === undefined) throw refusal(`${path}.tool_call_id`, 'must be of a call in the assistant message before it')
  call.result = text
}

function withoutIds(item: HistoryItem): HistoryItem {
  if (item.type !== 'model') return item
  return {
    type: 'model',
    response: item.response.map((part) => {
      if (typeof part === 'string' || part.type !== 'functionCall') return part
      const { id: _, ...call } = part as Call
      return call
    }),
  }
}

function textOf(content: string | ReadonlyArray<ChatPart | TextPart>, path: string): string {
  if (typeof content === 'string') return content
  return content
    .map((part, i) => {
      if (part.type !== 'text')
        throw refusal(`${path}.content[${i}]`, `this model reads text alone, and this is of type ${part.type}`)
      return part.text
    })
    .join('\n')
}
