import { useMemo } from 'react'
import { useText } from '../../text/use-text.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { type Attachment, type Conversation, openCalls } from '../conversation/conversation.ts'
import { useConversation } from '../conversation/open-conversation.ts'
import { usePlayground } from '../playground/playground.ts'
import { readSettings } from '../request/read-settings.ts'
import { useProblemText } from '../settings/setting-problem.ts'
import { accepts } from './attach.ts'

/** Why the draft cannot be sent now, as texts; empty when it can. Nothing is sent that the service would refuse. */
export function useBlockers(): string[] {
  const t = useText('chat')
  const { conversation, model } = usePlayground()
  const problemText = useProblemText()
  const { list } = useFormat()
  const settings = useConversation(conversation, (now) => now.settings)
  const messages = useConversation(conversation, (now) => now.messages)
  const draft = useConversation(conversation, (now) => now.draft.attachments)
  const waiting = useConversation(
    conversation,
    (now) => conversation.answering === null && openCalls(now.messages).length > 0,
  )
  const problems = useMemo(() => readSettings(settings, model).problems, [settings, model])
  const unaccepted = useMemo(
    () => [...attachmentsOf(messages), ...draft].filter(({ kind }) => !accepts(model, kind)),
    [messages, draft, model],
  )
  const blockers = problems.slice(0, 1).map((each) => t('blocked.settings', { problem: problemText(each, true) }))
  const [first] = unaccepted
  if (first) {
    const names = [...new Set(unaccepted.filter(({ kind }) => kind === first.kind).map(({ name }) => name))]
    const words = { model: model.name, what: t(`what.${first.kind}`), names: list(names.slice(0, 3)) }
    blockers.push(t('blocked.media', words))
  }
  if (waiting) blockers.push(t('blocked.calls'))
  return blockers
}

function attachmentsOf(messages: Conversation['messages']): Attachment[] {
  return messages.flatMap((message) => (message.role === 'user' ? message.attachments : []))
}
