import type { ChatModel } from '../../api/chat-models.ts'
import { request } from '../../api/request.ts'
import {
  type AssistantMessage,
  type Conversation,
  type Message,
  NO_DRAFT,
  newMessageId,
  openCalls,
  type Settings,
  type UserMessage,
} from '../conversation/conversation.ts'
import type { OpenConversation } from '../conversation/open-conversation.ts'
import { withPath } from '../conversation/turns.ts'
import { type AnswerEvents, answer, stop } from './answer.ts'

/** What a person can do with a conversation. */
export type Actions = ReturnType<typeof actionsOn>

export function actionsOn(conversation: OpenConversation, model: ChatModel, events: AnswerEvents) {
  const { change } = conversation
  const next = () => void answer(conversation, model, events)
  const write = (
    messages: (now: readonly Message[]) => readonly Message[],
    unsaved: Conversation['unsaved'] = 'edits',
  ) => change((now) => ({ ...now, messages: messages(now.messages), unsaved }))
  return {
    /** Sends the draft. */
    send() {
      change((now) => ({ ...now, ...withDraftSent(now), unsaved: 'message' }))
      next()
    },
    /** Requests an answer to the conversation as it is. */
    answer: next,
    stop: () => stop(conversation),
    /** Requests another version of an answer. */
    answerAgain(id: string) {
      write((now) => messagesBefore(now, id), 'message')
      next()
    },
    /** Changes the text of a message; `again` requests another version of its answer. */
    edit(id: string, text: string, again: boolean) {
      const shown = messageIn(conversation.read().messages, id)
      if (!again && 'text' in shown && shown.text === text) return
      write((now) => now.map((each) => (each.id === id ? withText(each, text) : each)), again ? 'message' : 'edits')
      if (!again) return
      write((now) => [...messagesBefore(now, id), messageIn(now, id)], 'message')
      next()
    },
    /** Takes a message out of what the next one continues, with the results of its calls. */
    remove(id: string) {
      write((now) => {
        const removed = messageIn(now, id)
        const calls = removed.role === 'assistant' ? removed.tool_calls.map(({ call_id }) => call_id) : []
        return now.filter((each) => each.id !== id && !(each.role === 'tool' && calls.includes(each.call_id)))
      })
    },
    /** Gives the results of open tool calls, by call; the model continues. */
    submitResults(results: ReadonlyMap<string, string>) {
      const given = openCalls(conversation.read().messages).map(
        ({ call_id }): Message => ({ id: newMessageId(), role: 'tool', call_id, output: results.get(call_id) ?? '' }),
      )
      write((now) => [...now, ...given], 'message')
      next()
    },
    /** Takes back the results of an answer's tool calls: other ones make another version of what followed. */
    clearResults(id: string) {
      const { messages } = conversation.read()
      write(() => [...messagesBefore(messages, id), messageIn(messages, id)])
    },
    /** Begins a conversation with the same settings; what was not stored of this one is dropped. */
    startNew: () => change((now) => (now.id === null ? { ...now, messages: [], unsaved: null } : now)),
    /** Shows another version of a turn. */
    show: (response_id: string) => change((now) => withPath(now, response_id)),
    set(settings: Partial<Settings>) {
      change((now) => ({ ...now, settings: { ...now.settings, ...settings } }))
      storeSettings(conversation)
    },
    draft: (draft: Partial<Conversation['draft']>) => change((now) => ({ ...now, draft: { ...now.draft, ...draft } })),
  }
}

const STORE_AFTER_MS = 400

/** Stores the settings as they are in a moment. What fails is stored with the next change. */
function storeSettings(conversation: OpenConversation): void {
  if (conversation.storing || conversation.read().id === null) return
  const store = async () => {
    await new Promise((resolve) => setTimeout(resolve, STORE_AFTER_MS))
    const { id, settings } = conversation.read()
    await request('PATCH', `/console/conversations/${id}`, { body: { settings } }).catch(() => {})
    conversation.storing = null
    if (conversation.read().settings !== settings) storeSettings(conversation)
  }
  conversation.storing = store()
}

/** The conversation with its draft as the last message. */
export function withDraftSent({ messages, draft }: Conversation): Pick<Conversation, 'messages' | 'draft'> {
  const { text, attachments } = draft
  const message: UserMessage = { id: newMessageId(), role: 'user', text, attachments: [...attachments] }
  return { messages: [...messages, message], draft: NO_DRAFT }
}

function withText(message: Message, text: string): Message {
  if (message.role === 'tool') return message
  // What it was as items is no longer what it says.
  return message.role === 'user' ? { ...message, text } : ({ ...message, text, items: null } satisfies AssistantMessage)
}

function messagesBefore(messages: readonly Message[], id: string): Message[] {
  const at = messages.findIndex((message) => message.id === id)
  return messages.slice(0, at < 0 ? messages.length : at)
}

function messageIn(messages: readonly Message[], id: string): Message {
  const found = messages.find((message) => message.id === id)
  if (!found) throw new Error('The message is gone.')
  return found
}
