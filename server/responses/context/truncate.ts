import type { Item } from '../schema/items.ts'
import { matchOutputs } from './pairing.ts'

/**
 * Which items to keep when `excess` tokens must be dropped: items are dropped from the oldest on until that many tokens are gone. A call
 * is dropped with its outputs, reasoning with the item that follows it. Instructions, summaries and everything from the last user message
 * on are always kept, even if too little can be dropped. `costs` are the tokens of each item. Linear in the number of items. Source: contract 10.5.
 */
export function dropOldest(items: readonly Item[], costs: readonly number[], excess: number): boolean[] {
  const kept = items.map(() => true)
  let remaining = excess
  for (const group of groupsOf(items)) {
    if (remaining <= 0) break
    if (group.required) continue
    for (const i of group.members) {
      kept[i] = false
      remaining -= costs[i]!
    }
  }
  return kept
}

/**
 * Which items to keep so that they cost at most `room` together, by the same rules: beside what is always kept, from the newest on. An item
 * is asked for its cost at most once, and none once those before it cost more than `room`: the costs of items that were not asked are 0.
 * For an item that costs more than `most`, `cost` may return any number above `most`.
 */
export async function keepNewest(
  items: readonly Item[],
  room: number,
  cost: (i: number, most: number) => Promise<number>,
): Promise<{ kept: boolean[]; costs: number[] }> {
  const kept = items.map(() => true)
  const costs = items.map(() => 0)
  const groups = groupsOf(items).reverse()
  let rest = room
  for (const group of [...groups.filter(({ required }) => required), ...groups.filter(({ required }) => !required)]) {
    for (const i of group.members) {
      if (rest < 0) break
      costs[i] = await cost(i, rest)
      rest -= costs[i]
    }
    if (rest < 0 && !group.required) for (const i of group.members) kept[i] = false
  }
  return { kept, costs }
}

/** Items that are kept or dropped together. */
type Group = { members: number[]; required: boolean }

/** Groups in the order of their oldest members. */
function groupsOf(items: readonly Item[]): Group[] {
  const callOfOutput = matchOutputs(items)
  const requiredFrom = lastTurnStart(items)
  const groups: Group[] = []
  const groupAt: Group[] = []
  /** The group of reasoning that belongs with the next item. */
  let leading: Group | null = null
  for (const [i, item] of items.entries()) {
    const call = callOfOutput.get(i)
    const answered: Group | null = call === undefined ? null : groupAt[call]!
    let group: Group
    if (answered) group = leading ? merge(answered, leading, groupAt) : answered
    else if (leading) group = leading
    else {
      group = { members: [], required: false }
      groups.push(group)
    }
    group.members.push(i)
    groupAt[i] = group
    if (i >= requiredFrom || isInstruction(item)) group.required = true
    leading = item.type === 'reasoning' ? group : null
  }
  return groups.filter(({ members }) => members.length > 0)
}

/** Moves the members of the second group to the first. The second has only reasoning, so each item is moved at most once. */
function merge(first: Group, second: Group, groupAt: Group[]): Group {
  for (const i of second.members) {
    first.members.push(i)
    groupAt[i] = first
  }
  first.required ||= second.required
  second.members = []
  return first
}

/** The index of the last user message, or of the last item when there is none. */
function lastTurnStart(items: readonly Item[]): number {
  const user = items.findLastIndex((item) => item.type === 'message' && item.role === 'user')
  return user >= 0 ? user : items.length - 1
}

function isInstruction(item: Item): boolean {
  if (item.type === 'compaction') return true
  return item.type === 'message' && (item.role === 'system' || item.role === 'developer')
}
