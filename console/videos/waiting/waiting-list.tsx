import { useQueryClient } from '@tanstack/react-query'
import { ArrowUpToLine, RotateCw, X } from 'lucide-react'
import { type MouseEvent, useEffect } from 'react'
import { newFailure } from '../../api/failure.ts'
import { multiply } from '../../api/money.ts'
import { useVideoModels, type VideoModel } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { IconButton } from '../../ui/button.tsx'
import { Money } from '../../ui/data/format.tsx'
import { useFailureText } from '../../ui/failure-text.ts'
import { focusTitle } from '../../ui/title-focus.ts'
import { readablePrompt } from '../draft/prompt.ts'
import { removeWaiting, sendFirst, useAccount, useWaiting, type Waiting } from './list.ts'
import { MAY_BE_MADE, sendAll, sendAsSlotsComeFree } from './send.ts'

const PROMPT_CHARACTERS = 200

/** What waits in this browser until the plan has slots for it; nothing where nothing waits. */
export function WaitingList() {
  const t = useText('videos')
  const queries = useQueryClient()
  const account = useAccount()
  const { user_id, organization_id } = account
  const list = useWaiting(account)
  const models = useVideoModels().data
  useEffect(() => sendAsSlotsComeFree(queries, { user_id, organization_id }), [queries, user_id, organization_id])
  if (list.length === 0) return null
  return (
    <section aria-labelledby="waiting" className="mb-5 rounded-xl border border-line bg-surface shadow-raised">
      <div className="px-4 pt-3 pb-2">
        <h2 id="waiting" tabIndex={-1} className="text-sm font-semibold">
          {t('waiting.title', { count: list.length })}
        </h2>
        <p className="text-[0.8125rem] text-pretty text-muted">{t('waiting.explained')}</p>
      </div>
      <ol className="max-h-72 divide-y divide-line overflow-y-auto border-t border-line">
        {list.map((waiting, at) => (
          <WaitingRequest
            key={waiting.key}
            {...{ waiting, isFirst: at === 0 }}
            model={models?.find(({ id }) => id === waiting.request.model)}
            onFirst={(event) => {
              focusNext(event)
              void sendFirst(account, waiting.key).then(() => sendAll(queries, account))
            }}
            onRemove={(event) => {
              focusNext(event)
              void removeWaiting(account, waiting.key)
            }}
          />
        ))}
      </ol>
    </section>
  )
}

/** The button that was pressed goes away: the focus moves to one of the next row, else to the heading, which a last row takes with it. */
function focusNext({ currentTarget: button }: MouseEvent): void {
  const row = button.closest('li')!
  const isLastButton = button.matches(':last-of-type')
  const next = row.nextElementSibling?.querySelector<HTMLElement>(isLastButton ? 'button:last-of-type' : 'button')
  if (next) next.focus()
  else if (row.previousElementSibling || !isLastButton) document.getElementById('waiting')!.focus()
  else focusTitle()
}

type RequestProps = {
  waiting: Waiting
  isFirst: boolean
  model: VideoModel | undefined
  onFirst: (event: MouseEvent) => void
  onRemove: (event: MouseEvent) => void
}

function WaitingRequest({ waiting: { request, refusal }, isFirst, model, onFirst, onRemove }: RequestProps) {
  const t = useText('videos')
  const reason = useFailureText(refusal && newFailure(refusal.status, refusal.code))
  const refused = refusal?.code === MAY_BE_MADE ? t('waiting.may_be_made') : t('waiting.refused', { reason })
  const prompt = readablePrompt(request.prompt).slice(0, PROMPT_CHARACTERS)
  const pricing = model?.pricing[0]
  return (
    <li className="flex items-center gap-2 px-4 py-2">
      <span className="min-w-0 grow">
        <span className="line-clamp-2 text-sm [overflow-wrap:anywhere]">{prompt}</span>
        <span className="flex flex-wrap gap-x-2 text-xs text-muted tabular-nums">
          <span>{model?.name ?? request.model}</span>
          <span>{t('seconds_value', { n: request.seconds })}</span>
          {pricing && <Money amount={multiply(pricing.per_second, request.seconds)} currency={pricing.currency} />}
        </span>
        {reason !== null && (
          <span role="alert" className="block text-xs text-danger">
            {refused}
          </span>
        )}
      </span>
      {reason !== null ? (
        <IconButton size="sm" label={t('waiting.again', { prompt })} icon={<RotateCw />} onClick={onFirst} />
      ) : (
        !isFirst && (
          <IconButton size="sm" label={t('waiting.first', { prompt })} icon={<ArrowUpToLine />} onClick={onFirst} />
        )
      )}
      <IconButton size="sm" label={t('waiting.remove', { prompt })} icon={<X />} onClick={onRemove} />
    </li>
  )
}
