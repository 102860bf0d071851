import { useQueryClient } from '@tanstack/react-query'
import { createContext, useContext, useMemo } from 'react'
import type { ChatModel } from '../../api/chat-models.ts'
import { type OpenConversation, useConversation } from '../conversation/open-conversation.ts'
import { type Actions, actionsOn } from './actions.ts'

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

/** The model that was chosen, or the first of the plan. */
export function useNewPlayground(conversation: OpenConversation, models: readonly ChatModel[]): Playground {
  const chosen = useConversation(conversation, ({ settings }) => settings.model)
  const model = models.find(({ id }) => id === chosen) ?? models[0]!
  const onCharged = useOnCharged()
  return useMemo(
    () => ({ conversation, models, model, actions: actionsOn(conversation, model, onCharged) }),
    [conversation, models, model, onCharged],
  )
}

/** Reloads what shows money once an answer is charged. */
export function useOnCharged(): () => void {
  const queries = useQueryClient()
  return useMemo(
    () => () => {
      for (const noun of ['balance', 'ledger', 'usage']) void queries.invalidateQueries({ queryKey: [noun] })
    },
    [queries],
  )
}
