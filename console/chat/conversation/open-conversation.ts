import { useMemo, useSyncExternalStore } from 'react'
import { onSignOut, readStored, removeStored, store } from '../../api/personal-storage.ts'
import { useSession } from '../../api/session.ts'
import { type Conversation, type Message, NEW_CONVERSATION } from './conversation.ts'

/** The conversation of one person in one organization. It outlives the page, so that an answer continues while another page is open. */
export type OpenConversation = {
  read(): Conversation
  change(change: (now: Conversation) => Conversation): void
  subscribe(listener: () => void): () => void
  /** Aborts the answer in progress; null when there is none. */
  answering: AbortController | null
  /** Ids of the answers whose charge is being looked up. */
  settling: Set<string>
  /** Whether this browser had room to store it. */
  isStored(): boolean
}

const STORE_AFTER_MS = 400
const opened = new Map<string, OpenConversation & { drop(): void }>()

onSignOut(() => {
  for (const conversation of opened.values()) conversation.drop()
  opened.clear()
})

/** The conversation of whoever is signed in. */
export function useOpenConversation(): OpenConversation {
  const { user, organization } = useSession()
  return useMemo(() => openConversation(organization.id, user.id), [organization.id, user.id])
}

/** A part of the conversation; the component renders again when that part changes. */
export function useConversation<T>({ subscribe, read }: OpenConversation, select: (now: Conversation) => T): T {
  return useSyncExternalStore(subscribe, () => select(read()))
}

/** Changes one message. */
export function changeMessage<M extends Message>(
  conversation: OpenConversation,
  id: string,
  changes: Partial<M>,
): void {
  conversation.change((now) => ({
    ...now,
    messages: now.messages.map((message) => (message.id === id ? { ...message, ...changes } : message)),
  }))
}

function openConversation(organization_id: string, user_id: string): OpenConversation {
  const name = `chat.${user_id}.${organization_id}`
  // Another person's conversation must not stay in this browser.
  removeStored((each) => each.startsWith('chat.') && !each.startsWith(`chat.${user_id}.`))
  const existing = opened.get(name)
  if (existing) return existing
  const conversation = newConversation(name)
  opened.set(name, conversation)
  return conversation
}

function newConversation(name: string): OpenConversation & { drop(): void } {
  let now = restore(readStored(name))
  let timer: ReturnType<typeof setTimeout> | undefined
  let stored = true
  let dropped = false
  const listeners = new Set<() => void>()
  const notify = () => {
    for (const listener of listeners) listener()
  }
  const save = () => {
    clearTimeout(timer)
    timer = undefined
    const before = stored
    stored = store(name, now)
    if (stored !== before) notify()
  }
  const saveNow = () => timer !== undefined && save()
  window.addEventListener('pagehide', saveNow)
  return {
    answering: null,
    settling: new Set(),
    read: () => now,
    isStored: () => stored,
    change(change) {
      if (dropped) return
      now = change(now)
      timer ??= setTimeout(save, STORE_AFTER_MS)
      notify()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    drop() {
      dropped = true
      this.answering?.abort()
      clearTimeout(timer)
      window.removeEventListener('pagehide', saveNow)
      now = NEW_CONVERSATION
      notify()
    },
  }
}

/** Reads a stored conversation. An answer that was in progress when the page closed was stopped by that. */
function restore(value: unknown): Conversation {
  const stored = value as Partial<Conversation> | null
  if (!stored || !Array.isArray(stored.messages)) return NEW_CONVERSATION
  return {
    ...NEW_CONVERSATION,
    ...stored,
    settings: { ...NEW_CONVERSATION.settings, ...stored.settings },
    messages: stored.messages.map((message: Message) =>
      message.role === 'assistant' && message.status === 'streaming'
        ? { ...message, status: 'stopped' as const, tool_calls: [] }
        : message,
    ),
  }
}
