import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { createContext, useContext, useEffect, useMemo } from 'react'
import type { ChatModel } from '../../api/chat-models.ts'
import { isUnfinished } from '../conversation/conversation.ts'
import { type OpenConversation, useConversation } from '../conversation/open-conversation.ts'
import { type Actions, actionsOn } from './actions.ts'
import { type AnswerEvents, follow } from './answer.ts'

/** What the components of the page share. */
export type Playground = {
  conversation: OpenConversation
  models: readonly ChatModel[]
  /** The model that answers next. */
  model: ChatModel
  actions: Actions
}

export const PlaygroundContext = createContext<Playground | null>(null)

export function usePlayground(): Playground {
  const playground = useContext(PlaygroundContext)
  if (!playground) throw new Error('usePlayground needs a PlaygroundContext.')
  return playground
}

/** The model that was chosen, or the first of the plan. An answer that is being made is followed. */
export function useNewPlayground(conversation: OpenConversation, models: readonly ChatModel[]): Playground {
  const chosen = useConversation(conversation, ({ settings }) => settings.model)
  const model = models.find(({ id }) => id === chosen) ?? models[0]!
  const events = useAnswerEvents()
  const unfinished = useConversation(
    conversation,
    ({ leaf, turns }) => turns.find((turn) => turn.id === leaf && isUnfinished(turn))?.id ?? null,
  )
  useEffect(() => {
    if (unfinished !== null) void follow(conversation, unfinished, events)
  }, [conversation, unfinished, events])
  return useMemo(
    () => ({ conversation, models, model, actions: actionsOn(conversation, model, events) }),
    [conversation, models, model, events],
  )
}

function useAnswerEvents(): AnswerEvents {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return useMemo(
    () => ({
      onStored(id) {
        // Only the page of the new conversation has no id: another one may be open by now.
        if (location.pathname === '/chat')
          void navigate({ to: '/chat/$id', params: { id }, replace: true, resetScroll: false })
      },
      onEnded() {
        for (const noun of ['balance', 'ledger', 'usage', 'conversations'])
          void queries.invalidateQueries({ queryKey: [noun] })
      },
    }),
    [queries, navigate],
  )
}
