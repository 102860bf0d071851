import { ApiError } from '../../platform/errors.ts'
import type { ContextItem, Item } from '../schema/items.ts'

/** Where the call is that each output answers, by their places in the context; of calls without an output there is nothing. */
export type Answers = ReadonlyMap<number, number>

/**
 * Requires of the effective context that every output has a call before it and every call an output, so that the model can be asked.
 * Throws ApiError `tool_call_not_found` or `tool_output_missing` for the first item at fault. Source: contract 10.3.
 */
export function requirePairs(context: readonly ContextItem[]): void {
  const items = context.map(({ item }) => item)
  const answers = findAnswers(items)
  const answered = new Set(answers.values())
  for (const [i, { item, path }] of context.entries()) {
    if (isOutput(item) && !answers.has(i)) {
      const text = `No tool call found for ${KINDS[item.type]} output with call_id ${item.call_id}.`
      throw new ApiError('tool_call_not_found', text, { param: pathOf(path, 'call_id') })
    }
  }
  for (const [i, { item, path }] of context.entries()) {
    if (isCall(item) && !answered.has(i)) {
      const text = `No tool output found for ${KINDS[item.type]} ${item.call_id}.`
      throw new ApiError('tool_output_missing', text, { param: pathOf(path) })
    }
  }
}

/**
 * Which call each output answers: the first of that id that has none yet, else the last one before it. Clients and models use an id
 * again in a later turn.
 */
export function findAnswers(items: readonly Item[]): Answers {
  const calls = new Map<string, { waiting: number[]; next: number; last: number }>()
  const answers = new Map<number, number>()
  for (const [i, item] of items.entries()) {
    if (isCall(item)) {
      const known = calls.get(item.call_id)
      if (known) {
        known.waiting.push(i)
        known.last = i
      } else calls.set(item.call_id, { waiting: [i], next: 0, last: i })
    } else if (isOutput(item)) {
      const known = calls.get(item.call_id)
      if (known) answers.set(i, known.waiting[known.next++] ?? known.last)
    }
  }
  return answers
}

function isCall(item: Item): item is Extract<Item, { type: 'function_call' | 'custom_tool_call' }> {
  return item.type === 'function_call' || item.type === 'custom_tool_call'
}

function isOutput(item: Item): item is Extract<Item, { type: 'function_call_output' | 'custom_tool_call_output' }> {
  return item.type === 'function_call_output' || item.type === 'custom_tool_call_output'
}

const KINDS = {
  function_call: 'function call',
  function_call_output: 'function call',
  custom_tool_call: 'custom tool call',
  custom_tool_call_output: 'custom tool call',
} as const

/** A member of an item that came with the request; items of the chain have no members a client could point to. */
function pathOf(path: string, member?: string): string {
  return path.startsWith('input[') && member !== undefined ? `${path}.${member}` : path
}
