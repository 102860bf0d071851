import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import type { PromptHelpView } from '../../../server/console/schema.ts'
import { useSite } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { withTexts } from '../../text/languages.ts'

const Improve = lazy(() =>
  withTexts('videos/help', import('./improve.tsx')).then((module) => ({ default: module.Improve })),
)

type HelpProps = { model: string | null; prompt: string; onChange: (prompt: string) => void }

/** Asks a chat model for a better prompt, where the operator has named one and the plan includes it. */
export function PromptHelp({ model, prompt, onChange }: HelpProps) {
  const isConfigured = useSite().data?.prompt_help === true
  const { data: help, isPlaceholderData } = useQuery({
    queryKey: ['prompt-help', model],
    queryFn: ({ signal }) => request<PromptHelpView>('GET', '/console/prompt_help', { query: { model }, signal }),
    enabled: isConfigured && model !== null,
    staleTime: 300_000,
    placeholderData: keepPreviousData,
  })
  if (!help?.chat_model || help.instruction === null) return null
  const { chat_model, instruction } = help
  return (
    <Suspense>
      <Improve {...{ prompt, onChange, chat_model, instruction }} isChanging={isPlaceholderData} />
    </Suspense>
  )
}
