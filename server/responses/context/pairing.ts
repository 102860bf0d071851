import { ApiError } from '../../platform/errors.ts'
import type { ContextItem, Item } from '../schema/items.ts'

/** The index of its call for the index of each output. Calls without an output are not in it. */
export type OutputCalls = ReadonlyMap<number, number>

/**
 * Requires that every output in the effective context has a call before it and every call an output, as model servers do.
 * Throws ApiError `tool_call_not_found` or `tool_output_missing` for the first item at fault. Source: contract 10.3.
 */
export function requirePairs(context: readonly ContextItem[]): void {
  const items = context.map(({ item }) => item)
  const callOfOutput = matchOutputs(items)
  const answered = new Set(callOfOutput.values())
  for (const [i, { item, path }] of context.entries()) {
    if (isOutput(item) && !callOfOutput.has(i)) {
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

/** The context without calls that were cut off and have no output: nobody runs these. */
export function withoutCutCalls(context: readonly ContextItem[]): readonly ContextItem[] {
  const left = new Set<ContextItem>()
  const latest = new Map<string, ContextItem>()
  for (const each of context) {
    const { item } = each
    if (isOutput(item)) left.delete(latest.get(item.call_id)!)
    if (!isCall(item)) continue
    latest.set(item.call_id, each)
    if (item.status === 'incomplete') left.add(each)
  }
  return left.size === 0 ? context : context.filter((each) => !left.has(each))
}

/**
 * The call of each output: the first with its call_id that has no output yet, else the last one before it. Clients and models reuse ids in
 * later turns.
 */
export function matchOutputs(items: readonly Item[]): OutputCalls {
  const calls = new Map<string, { indexes: number[]; next: number; last: number }>()
  const callOfOutput = new Map<number, number>()
  for (const [i, item] of items.entries()) {
    if (isCall(item)) {
      const known = calls.get(item.call_id)
      if (known) {
        known.indexes.push(i)
        known.last = i
      } else calls.set(item.call_id, { indexes: [i], next: 0, last: i })
    } else if (isOutput(item)) {
      const known = calls.get(item.call_id)
      if (known) callOfOutput.set(i, known.indexes[known.next++] ?? known.last)
    }
  }
  return callOfOutput
}

/** The outputs in the context that have no call but one of these, which were left out. */
export function outputsOf(skipped_calls: ReadonlySet<string>, context: readonly ContextItem[]): Set<ContextItem> {
  if (skipped_calls.size === 0) return new Set()
  const callOfOutput = matchOutputs(context.map(({ item }) => item))
  return new Set(
    context.filter(({ item }, i) => isOutput(item) && !callOfOutput.has(i) && skipped_calls.has(item.call_id)),
  )
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

/** The path of a member, for items of the request; items of the history have no path of their own. */
function pathOf(path: string, member?: string): string {
  return path.startsWith('input[') && member !== undefined ? `${path}.${member}` : path
}
