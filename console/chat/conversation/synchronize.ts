import type { ConversationView, TurnView } from '../../../server/conversations/schema.ts'
import type { Page } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { type Conversation, isUnfinished, type Turn } from './conversation.ts'
import type { OpenConversation } from './open-conversation.ts'
import { readTurn } from './read-turn.ts'
import { titleOf } from './title.ts'
import { withPath } from './turns.ts'

/**
 * Reads what is stored of the conversation: its title, its settings, and the turns that are new or had not ended. The path that ends with
 * `leaf` is shown then; by default the newest one, unless an older version was chosen. What is not stored yet stays. Rejects as `request` does.
 */
export async function synchronize(conversation: OpenConversation, leaf?: string): Promise<void> {
  const { id } = conversation.read()
  if (id === null) return
  await conversation.storing
  const path = `/console/conversations/${encodeURIComponent(id)}`
  const [{ title, settings }, turns] = await Promise.all([
    request<ConversationView>('GET', path),
    readTurns(conversation, path),
  ])
  conversation.change((now) => {
    const next = {
      ...now,
      title,
      settings: conversation.storing ? now.settings : settings,
      turns: joined(now.turns, turns),
    }
    if (leaf !== undefined) return withPath({ ...next, leaf }, leaf)
    if (conversation.answering || now.unsaved) return next
    const shows_newest = now.leaf === null || now.leaf === now.turns.at(-1)?.id
    return withPath(next, (shows_newest ? next.turns.at(-1)?.id : now.leaf) ?? null)
  })
}

/** What was read, and what another reading has added or seen end meanwhile. */
function joined(now: readonly Turn[], read: readonly Turn[]): Turn[] {
  const known = new Map(now.map((turn) => [turn.id, turn]))
  const ids = new Set(read.map(({ id }) => id))
  const turns = read.map((turn) => (isUnfinished(turn) ? (known.get(turn.id) ?? turn) : turn))
  return [...turns, ...now.filter(({ id }) => !ids.has(id))]
}

/** All turns; those that are known and have ended are not read again. */
async function readTurns({ read, seen }: OpenConversation, path: string): Promise<Turn[]> {
  const known = read().turns
  const first = known.findIndex(isUnfinished)
  const turns = first < 0 ? [...known] : known.slice(0, first)
  for (let has_more = true; has_more; ) {
    const query = { after: turns.at(-1)?.id }
    const page = await request<Page<TurnView>>('GET', `${path}/turns`, { query })
    for (const view of page.data) {
      const { key, reasoning_ms } = seen.get(view.id) ?? { key: view.id, reasoning_ms: null }
      const place = turns.findIndex(({ id }) => id === view.id)
      if (place < 0) turns.push(readTurn(view, key, reasoning_ms))
    }
    has_more = page.has_more
  }
  return turns
}

/** Stores a conversation under the beginning of its first message, and returns its id. Rejects as `request` does. */
export async function storeConversation(conversation: OpenConversation): Promise<string> {
  const { settings, messages } = conversation.read()
  const first = messages.find((message) => message.role === 'user')
  const title = titleOf(first?.text ?? '') || first?.attachments[0]?.name || '…'
  const { id } = await request<ConversationView>('POST', '/console/conversations', { body: { title, settings } })
  conversation.change((now: Conversation) => ({ ...now, id, title }))
  conversation.named(id)
  return id
}
