import type { Conversation, Message, Turn } from './conversation.ts'

/** The turns that end with this one, oldest first, as far as they are stored. */
export function pathTo(turns: readonly Turn[], leaf: string | null): Turn[] {
  const byId = new Map(turns.map((turn) => [turn.id, turn]))
  const path: Turn[] = []
  for (let turn = byId.get(leaf ?? ''); turn; turn = byId.get(turn.previous_response_id ?? '')) path.unshift(turn)
  return path
}

/** The versions of a turn, oldest first: those that continue the same response. */
export function versionsOf(turns: readonly Turn[], id: string): Turn[] {
  const stored = new Set(turns.map((turn) => turn.id))
  const parentOf = ({ previous_response_id: id }: Turn) => (id !== null && stored.has(id) ? id : null)
  const own = turns.find((turn) => turn.id === id)
  return own ? turns.filter((turn) => parentOf(turn) === parentOf(own)) : []
}

/** The conversation with the path that ends with this turn, or with the newest that continues it. */
export function withPath(now: Conversation, id: string | null): Conversation {
  const newest = now.turns.findLast((turn) => pathTo(now.turns, turn.id).some((each) => each.id === id))
  const leaf = newest?.id ?? null
  return { ...now, leaf, messages: messagesOn(now.turns, leaf), unsaved: null }
}

/** The messages of the path that ends with this turn. */
export function messagesOn(turns: readonly Turn[], leaf: string | null): Message[] {
  return pathTo(turns, leaf).flatMap(({ messages }) => messages)
}

/**
 * The response that a request can continue, and the messages that it adds. The history of a response is unchanged as long as the messages are
 * those of its turns, every turn is stored back to the first, and none was cut off: of an answer that was, the service leaves out what is
 * incomplete.
 */
export function splitHistory({ turns, leaf, messages }: Pick<Conversation, 'turns' | 'leaf' | 'messages'>): {
  previous_response_id: string | null
  added: readonly Message[]
} {
  const path = pathTo(turns, leaf)
  let previous_response_id: string | null = null
  let count = 0
  if (path[0]?.previous_response_id === null)
    for (const { id, status, messages: own } of path) {
      const unchanged = own.every((message, i) => messages[count + i] === message)
      if (!unchanged || (status !== 'completed' && status !== 'incomplete')) break
      previous_response_id = id
      count += own.length
    }
  return { previous_response_id, added: messages.slice(count) }
}
