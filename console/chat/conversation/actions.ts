import type { ChatModel } from '../../api/chat-models.ts'
import { answer } from './answer.ts'
import {
  type AssistantMessage,
  type Conversation,
  type Message,
  NEW_CONVERSATION,
  newMessageId,
  openCalls,
  type Settings,
  type UserMessage,
} from './conversation.ts'
import { changeMessage, type OpenConversation } from './open-conversation.ts'

/** What a person can do with the conversation. Those that ask the model for an answer need its entry. */
export type Actions = ReturnType<typeof actionsOn>

export function actionsOn(conversation: OpenConversation, model: ChatModel, onCharged: () => void) {
  const { change } = conversation
  const next = () => void answer(conversation, model, onCharged)
  return {
    /** Sends what was drafted. */
    send() {
      change((now) => ({ ...now, ...sent(now) }))
      next()
    },
    /** Asks for an answer to the conversation as it is. */
    answer: next,
    stop: () => conversation.answering?.abort(),
    /** Drops a message and what follows, and asks again. */
    answerAgain(id: string) {
      change((now) => ({ ...now, messages: before(now.messages, id) }))
      next()
    },
    /** Changes what a message says; `again` drops what follows and asks for another answer. */
    edit(id: string, text: string, again: boolean) {
      changeMessage<UserMessage | AssistantMessage>(conversation, id, { text })
      if (!again) return
      change((now) => ({ ...now, messages: [...before(now.messages, id), messageIn(now.messages, id)] }))
      next()
    },
    remove: (id: string) => change((now) => ({ ...now, messages: now.messages.filter((each) => each.id !== id) })),
    /** Gives open calls their results and lets the model go on. */
    giveResults(id: string, results: Readonly<Record<string, string>>) {
      const { tool_calls } = messageIn(conversation.read().messages, id) as AssistantMessage
      const given = tool_calls.map((call, i) => ({ ...call, result: results[String(i)] ?? call.result }))
      changeMessage<AssistantMessage>(conversation, id, { tool_calls: given })
      if (openCalls(conversation.read().messages).length === 0) next()
    },
    /** Takes results back, and with them all that was said since. */
    takeBackResults(id: string) {
      const { messages } = conversation.read()
      const { tool_calls } = messageIn(messages, id) as AssistantMessage
      const open = tool_calls.map((call) => ({ ...call, result: null }))
      change((now) => ({ ...now, messages: [...before(now.messages, id), messageIn(now.messages, id)] }))
      changeMessage<AssistantMessage>(conversation, id, { tool_calls: open })
    },
    set: (settings: Partial<Settings>) => change((now) => ({ ...now, settings: { ...now.settings, ...settings } })),
    draft: (draft: Partial<Conversation['draft']>) => change((now) => ({ ...now, draft: { ...now.draft, ...draft } })),
    /** Begins anew with the same settings. */
    clear() {
      conversation.answering?.abort()
      change(({ settings }) => ({ ...NEW_CONVERSATION, settings }))
    },
  }
}

/** The conversation with its draft as the last message. */
export function sent({ messages, draft }: Conversation): Pick<Conversation, 'messages' | 'draft'> {
  const { text, attachments } = draft
  const message: UserMessage = { id: newMessageId(), role: 'user', text, attachments: [...attachments] }
  return { messages: [...messages, message], draft: NEW_CONVERSATION.draft }
}

function before(messages: readonly Message[], id: string): Message[] {
  const at = messages.findIndex((message) => message.id === id)
  return messages.slice(0, at < 0 ? messages.length : at)
}

function messageIn(messages: readonly Message[], id: string): Message {
  const found = messages.find((message) => message.id === id)
  if (!found) throw new Error('The message is gone.')
  return found
}
