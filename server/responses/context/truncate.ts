import type { Item } from '../schema/items.ts'
import { findAnswers } from './pairing.ts'

/**
 * Which items stay when `excess` tokens must go: whole items are dropped from the oldest end until that many are gone. A call and its
 * outputs go together, reasoning with the item that follows it; instructions, summaries and everything from the last message of the user
 * on are never dropped, though it be too little. `costs` are the tokens of each item.
 * Takes time linear in the number of items. Source: contract 10.5.
 */
export function dropOldest(items: readonly Item[], costs: readonly number[], excess: number): boolean[] {
  const kept = items.map(() => true)
  let rest = excess
  for (const group of groupsOf(items)) {
    if (rest <= 0) break
    if (group.guarded) continue
    for (const i of group.members) {
      kept[i] = false
      rest -= costs[i]!
    }
  }
  return kept
}

/** Items that go together or stay together. */
type Group = { members: number[]; guarded: boolean }

/** In the order of their oldest members. */
function groupsOf(items: readonly Item[]): Group[] {
  const answers = findAnswers(items)
  const guardedFrom = lastTurn(items)
  const groups: Group[] = []
  const groupAt: Group[] = []
  /** Reasoning that waits for the item it led to. */
  let leading: Group | null = null
  for (const [i, item] of items.entries()) {
    const call = answers.get(i)
    const answered: Group | null = call === undefined ? null : groupAt[call]!
    let group: Group
    if (answered) group = leading ? joined(answered, leading, groupAt) : answered
    else if (leading) group = leading
    else {
      group = { members: [], guarded: false }
      groups.push(group)
    }
    group.members.push(i)
    groupAt[i] = group
    if (i >= guardedFrom || isInstruction(item)) group.guarded = true
    leading = item.type === 'reasoning' ? group : null
  }
  return groups.filter(({ members }) => members.length > 0)
}

/** The second becomes part of the first. It holds reasoning alone, so this happens once to each item. */
function joined(first: Group, second: Group, groupAt: Group[]): Group {
  for (const i of second.members) {
    first.members.push(i)
    groupAt[i] = first
  }
  first.guarded ||= second.guarded
  second.members = []
  return first
}

/** Where the last message of the user stands; without one, the last item and the reasoning before it are what is asked. */
function lastTurn(items: readonly Item[]): number {
  const user = items.findLastIndex((item) => item.type === 'message' && item.role === 'user')
  return user >= 0 ? user : items.length - 1
}

function isInstruction(item: Item): boolean {
  if (item.type === 'compaction') return true
  return item.type === 'message' && (item.role === 'system' || item.role === 'developer')
}
