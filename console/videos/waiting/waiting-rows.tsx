import { useQueryClient } from '@tanstack/react-query'
import { ArrowUpToLine, RotateCw, X } from 'lucide-react'
import type { MouseEvent } from 'react'
import { newFailure } from '../../api/failure.ts'
import { multiply } from '../../api/money.ts'
import { useVideoModels, type VideoModel } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { IconButton } from '../../ui/button.tsx'
import { Money } from '../../ui/data/format.tsx'
import { useFailureText } from '../../ui/failure-text.ts'
import { focusTitle } from '../../ui/title-focus.ts'
import { beginningOf } from '../draft/prompt.ts'
import { type Account, clipsOf, removeWaiting, sendFirst, type Waiting } from './list.ts'
import { MAY_BE_MADE, sendAll } from './send.ts'

const PROMPT_CHARACTERS = 200

/** The requests of the waiting list, the next one first. */
export function WaitingRows({ account, list }: { account: Account; list: readonly Waiting[] }) {
  const t = useText('videos/waiting')
  const queries = useQueryClient()
  const models = useVideoModels().data
  const count = list.reduce((sum, each) => sum + clipsOf(each), 0)
  return (
    <section aria-labelledby="waiting" className="mb-5 rounded-xl border border-line bg-surface shadow-raised">
      <div className="px-4 pt-3 pb-2">
        <h2 id="waiting" tabIndex={-1} className="text-sm font-semibold">
          {t('title', { count })}
        </h2>
        <p className="text-[0.8125rem] text-pretty text-muted">{t('explained')}</p>
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

function WaitingRequest({ waiting, isFirst, model, onFirst, onRemove }: RequestProps) {
  const t = useText('videos/waiting')
  const videos = useText('videos')
  const { request, refusal } = waiting
  const clips = clipsOf(waiting)
  const reason = useFailureText(refusal && newFailure(refusal.status, refusal.code))
  const refused = refusal?.code === MAY_BE_MADE ? t('may_be_made') : t('refused', { reason })
  const prompt = beginningOf(request.prompt, PROMPT_CHARACTERS)
  const pricing = model?.pricing[0]
  return (
    <li className="flex items-center gap-2 px-4 py-2">
      <span className="min-w-0 grow">
        <span className="line-clamp-2 text-sm [overflow-wrap:anywhere]">{prompt}</span>
        <span className="flex flex-wrap gap-x-2 text-xs text-muted tabular-nums">
          <span>{model?.name ?? request.model}</span>
          <span>{videos('seconds_value', { n: request.seconds })}</span>
          {clips > 1 && <span>{t('clips', { n: clips })}</span>}
          {pricing && (
            <Money amount={multiply(pricing.per_second, request.seconds * clips)} currency={pricing.currency} />
          )}
        </span>
        {reason !== null && (
          <span role="alert" className="block text-xs text-danger">
            {refused}
          </span>
        )}
      </span>
      {reason !== null ? (
        <IconButton size="sm" label={t('again', { prompt })} icon={<RotateCw />} onClick={onFirst} />
      ) : (
        !isFirst && <IconButton size="sm" label={t('first', { prompt })} icon={<ArrowUpToLine />} onClick={onFirst} />
      )}
      <IconButton size="sm" label={t('remove', { prompt })} icon={<X />} onClick={onRemove} />
    </li>
  )
}
