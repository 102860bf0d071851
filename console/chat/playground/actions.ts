import type { ChatModel } from '../../api/chat-models.ts'
import {
  type AssistantMessage,
  type Conversation,
  type Message,
  NEW_CONVERSATION,
  newMessageId,
  openCalls,
  type Settings,
  type UserMessage,
} from '../conversation/conversation.ts'
import { changeMessage, type OpenConversation } from '../conversation/open-conversation.ts'
import { answer } from './answer.ts'

/** What a person can do with a conversation. */
export type Actions = ReturnType<typeof actionsOn>

export function actionsOn(conversation: OpenConversation, model: ChatModel, onCharged: () => void) {
  const { change } = conversation
  const next = () => void answer(conversation, model, onCharged)
  return {
    /** Sends the draft. */
    send() {
      change((now) => ({ ...now, ...withDraftSent(now) }))
      next()
    },
    /** Requests an answer to the conversation as it is. */
    answer: next,
    stop: () => conversation.answering?.abort(),
    /** Drops a message and everything after it, and requests another answer. */
    answerAgain(id: string) {
      change((now) => ({ ...now, messages: messagesBefore(now.messages, id) }))
      next()
    },
    /** Changes the text of a message; `again` drops everything after it and requests another answer. */
    edit(id: string, text: string, again: boolean) {
      changeMessage<UserMessage | AssistantMessage>(conversation, id, { text })
      if (!again) return
      change((now) => ({ ...now, messages: [...messagesBefore(now.messages, id), messageIn(now.messages, id)] }))
      next()
    },
    remove: (id: string) => change((now) => ({ ...now, messages: now.messages.filter((each) => each.id !== id) })),
    /** Sets the results of open tool calls; the model continues once none is open. */
    submitResults(id: string, results: Readonly<Record<string, string>>) {
      const { tool_calls } = messageIn(conversation.read().messages, id) as AssistantMessage
      const given = tool_calls.map((call, i) => ({ ...call, result: results[String(i)] ?? call.result }))
      changeMessage<AssistantMessage>(conversation, id, { tool_calls: given })
      if (openCalls(conversation.read().messages).length === 0) next()
    },
    /** Clears the results of an answer's tool calls and drops everything after it. */
    clearResults(id: string) {
      const { messages } = conversation.read()
      const { tool_calls } = messageIn(messages, id) as AssistantMessage
      const open = tool_calls.map((call) => ({ ...call, result: null }))
      change((now) => ({ ...now, messages: [...messagesBefore(now.messages, id), messageIn(now.messages, id)] }))
      changeMessage<AssistantMessage>(conversation, id, { tool_calls: open })
    },
    set: (settings: Partial<Settings>) => change((now) => ({ ...now, settings: { ...now.settings, ...settings } })),
    draft: (draft: Partial<Conversation['draft']>) => change((now) => ({ ...now, draft: { ...now.draft, ...draft } })),
    /** Starts a new conversation with the same settings. */
    clear() {
      conversation.answering?.abort()
      change(({ settings }) => ({ ...NEW_CONVERSATION, settings }))
    },
  }
}

/** The conversation with its draft as the last message. */
export function withDraftSent({ messages, draft }: Conversation): Pick<Conversation, 'messages' | 'draft'> {
  const { text, attachments } = draft
  const message: UserMessage = { id: newMessageId(), role: 'user', text, attachments: [...attachments] }
  return { messages: [...messages, message], draft: NEW_CONVERSATION.draft }
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
