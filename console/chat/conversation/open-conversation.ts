import { useMemo, useSyncExternalStore } from 'react'
import { forgetKept, keep, onForgetPerson, readKept } from '../../api/kept.ts'
import { useSession } from '../../api/session.ts'
import { type Conversation, type Message, NEW_CONVERSATION } from './conversation.ts'

/** The conversation of one person in one organization. It outlives the page, so that an answer goes on while one looks elsewhere. */
export type OpenConversation = {
  read(): Conversation
  change(change: (now: Conversation) => Conversation): void
  subscribe(heard: () => void): () => void
  /** Aborts the answer under way; null when there is none. */
  answering: AbortController | null
  /** Whether this browser had room to keep it. */
  isKept(): boolean
}

const KEEP_AFTER_MS = 400
const opened = new Map<string, OpenConversation & { drop(): void }>()

onForgetPerson(() => {
  for (const conversation of opened.values()) conversation.drop()
  opened.clear()
})

/** The conversation of whoever is signed in. */
export function useOpenConversation(): OpenConversation {
  const { user, organization } = useSession()
  return useMemo(() => openConversation(organization.id, user.id), [organization.id, user.id])
}

/** A part of the conversation; the component is drawn again when that part changes. */
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
  // What another person left behind in this browser is not ours to keep.
  forgetKept((each) => each.startsWith('chat.') && !each.startsWith(`chat.${user_id}.`))
  const known = opened.get(name)
  if (known) return known
  const conversation = newConversation(name)
  opened.set(name, conversation)
  return conversation
}

function newConversation(name: string): OpenConversation & { drop(): void } {
  let now = restore(readKept(name))
  let timer: ReturnType<typeof setTimeout> | undefined
  let kept = true
  let dropped = false
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const heard of listeners) heard()
  }
  const save = () => {
    clearTimeout(timer)
    timer = undefined
    const was = kept
    kept = keep(name, now)
    if (kept !== was) tell()
  }
  const saveNow = () => timer !== undefined && save()
  window.addEventListener('pagehide', saveNow)
  return {
    answering: null,
    read: () => now,
    isKept: () => kept,
    change(change) {
      if (dropped) return
      now = change(now)
      timer ??= setTimeout(save, KEEP_AFTER_MS)
      tell()
    },
    subscribe(heard) {
      listeners.add(heard)
      return () => listeners.delete(heard)
    },
    drop() {
      dropped = true
      this.answering?.abort()
      clearTimeout(timer)
      window.removeEventListener('pagehide', saveNow)
      now = NEW_CONVERSATION
      tell()
    },
  }
}

/** What was kept, made good: an answer that was under way when the page closed was stopped by that. */
function restore(value: unknown): Conversation {
  const kept = value as Partial<Conversation> | null
  if (!kept || !Array.isArray(kept.messages)) return NEW_CONVERSATION
  return {
    ...NEW_CONVERSATION,
    ...kept,
    settings: { ...NEW_CONVERSATION.settings, ...kept.settings },
    messages: kept.messages.map((message: Message) =>
      message.role === 'assistant' && message.status === 'streaming'
        ? { ...message, status: 'stopped' as const, tool_calls: [] }
        : message,
    ),
  }
}
