import { useText } from '../../text/use-text.ts'
import { useConversation } from '../conversation/open-conversation.ts'
import { usePlayground } from '../conversation/playground.ts'
import { AnswerTurn } from './answer-turn.tsx'
import { UserTurn } from './user-turn.tsx'

/** The conversation so far. */
export function Turns() {
  const t = useText('chat')
  const { conversation } = usePlayground()
  const messages = useConversation(conversation, (now) => now.messages)
  const answering = useConversation(conversation, () => conversation.answering !== null)
  return (
    <section role="log" aria-live="off" aria-label={t('messages')} className="flex flex-col gap-4">
      {messages.map((message, i) =>
        message.role === 'user' ? (
          <UserTurn key={message.id} message={message} last={i === messages.length - 1} locked={answering} />
        ) : (
          <AnswerTurn key={message.id} message={message} last={i === messages.length - 1} locked={answering} />
        ),
      )}
    </section>
  )
}
