import { useMemo, useSyncExternalStore } from 'react'
import { onSignOut, readStored, removeStored, store } from '../../api/personal-storage.ts'
import { randomId } from '../../api/random-id.ts'
import { useSession } from '../../api/session.ts'
import {
  type Conversation,
  type Message,
  NEW_CONVERSATION,
  NEW_SETTINGS,
  NO_DRAFT,
  type Settings,
} from './conversation.ts'

/**
 * A conversation as this tab shows it. It outlives the page, so that an answer streams on while another page is open. What is stored is the
 * service's; this browser keeps only the drafts, and the settings that a new conversation begins with.
 */
export type OpenConversation = {
  /** Names it in this tab, whether it is stored yet or not. */
  key: string
  read(): Conversation
  change(change: (now: Conversation) => Conversation): void
  subscribe(listener: () => void): () => void
  /** The answer that is streaming; null when there is none. */
  answering: Answering | null
  /** What this tab measured of responses, and how it names them, by id. */
  seen: Map<string, { key: string; reasoning_ms: number | null }>
  /** A conversation is stored from its first message on: it can be opened by this id then. */
  named(id: string): void
  /** Resolves once the settings are stored; null when they are. */
  storing: Promise<void> | null
}

/** `reading` ends the stream here; the service goes on. */
export type Answering = { reading: AbortController; response_id: string | null; stopped: boolean }

type Owner = { user_id: string; org_id: string }
const opened = new Map<string, OpenConversation>()

onSignOut(() => {
  for (const conversation of opened.values()) {
    conversation.answering?.reading.abort()
    conversation.change(() => NEW_CONVERSATION)
  }
  opened.clear()
})

/** A conversation of whoever is signed in; the one that is not stored yet for no id. */
export function useOpenConversation(id: string | null): OpenConversation {
  const { user, organization } = useSession()
  return useMemo(
    () => openConversation({ user_id: user.id, org_id: organization.id }, id),
    [user.id, organization.id, id],
  )
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

function openConversation(owner: Owner, id: string | null): OpenConversation {
  const prefix = `chat.${owner.user_id}.`
  // What another person wrote must not stay in this browser.
  removeStored((each) => each.startsWith('chat.') && !each.startsWith(prefix))
  const place = (each: string | null) => `${prefix}${owner.org_id}.${each ?? 'new'}`
  const existing = opened.get(place(id))
  if (existing) return existing
  const conversation = newConversation(place, id)
  opened.set(place(id), conversation)
  return conversation
}

function newConversation(place: (id: string | null) => string, id: string | null): OpenConversation {
  const begun = `${place(null)}.settings`
  const listeners = new Set<() => void>()
  const draft = readStored(place(id)) as Conversation['draft'] | null
  let kept_as = draft && place(id)
  let now: Conversation = {
    ...NEW_CONVERSATION,
    id,
    settings: { ...NEW_SETTINGS, ...(readStored(begun) as Settings | null) },
    draft: draft ?? NO_DRAFT,
  }
  return {
    key: randomId(4),
    answering: null,
    storing: null,
    seen: new Map(),
    read: () => now,
    change(change) {
      const before = now
      now = change(now)
      if (now.settings !== before.settings) store(begun, now.settings)
      if (now.draft !== before.draft && now.draft !== NO_DRAFT) {
        kept_as = place(now.id)
        store(kept_as, now.draft)
      }
      // A message that was sent is a draft until it is stored.
      if (kept_as !== null && now.draft === NO_DRAFT && now.unsaved !== 'message') {
        const name = kept_as
        kept_as = null
        removeStored((each) => each === name)
      }
      for (const listener of listeners) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    named(stored_id) {
      opened.delete(place(null))
      opened.set(place(stored_id), this)
    },
  }
}
