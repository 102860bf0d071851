import { useQuery } from '@tanstack/react-query'
import { Undo2, X } from 'lucide-react'
import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  lazy,
  type ReactNode,
  Suspense,
  useState,
} from 'react'
import { type Acceptance, useAcceptance } from '../../api/acceptance.ts'
import type { Failure } from '../../api/failure.ts'
import { isNegative, multiply, subtract } from '../../api/money.ts'
import { useBalance, useSite } from '../../api/queries.ts'
import { useVideoModels, type VideoModel } from '../../api/video-models.ts'
import { withTexts } from '../../text/languages.ts'
import { useText } from '../../text/use-text.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { toast } from '../../ui/overlay/toast.ts'
import { type Draft, missingFrom, requestOf } from '../draft/draft.ts'
import { changeDraft, closeEarlierDraft, useDraft, useEarlierDraft } from '../draft/draft-store.ts'
import { fitTo, ratiosOf, secondsOf, unfitFiles } from '../draft/models.ts'
import { missingNames } from '../draft/prompt.ts'
import { attachAnywhere } from '../draft/uploads.ts'
import { InputsField } from '../inputs/inputs-field.tsx'
import { useEstimateText } from '../jobs/estimate.ts'
import { AspectRatioField } from './aspect-ratio-field.tsx'
import { ModelPicker } from './model-picker.tsx'
import { PromptField } from './prompt-field.tsx'
import { PromptHelp } from './prompt-help.tsx'
import { type Obstacle, type Price, QuoteFooter } from './quote-footer.tsx'
import { SecondsField } from './seconds-field.tsx'
import { refusedField, useSubmission } from './submit.ts'

const TermsNote = lazy(() => import('./terms-note.tsx').then((module) => ({ default: module.TermsNote })))

const Continues = lazy(() =>
  withTexts('videos/repeat', import('../repeat/continues.tsx')).then((module) => ({ default: module.Continues })),
)
const ChangedByModel = lazy(() =>
  withTexts('videos/repeat', import('../repeat/changed-by-model.tsx')).then((module) => ({
    default: module.ChangedByModel,
  })),
)

/** Where a video is described, priced and started. */
export function Studio({ onSubmitted }: { onSubmitted: (text: string) => boolean }) {
  const t = useText('videos')
  const kept = useDraft()
  const listing = useVideoModels()
  const models = listing.data ?? null
  const acceptance = useAcceptance().data ?? null
  const available = useBalance().data?.available ?? null
  const model = chosenModel(models, kept)
  const draft = fitTo(model, kept)
  const submission = useSubmission(kept, onSubmitted)
  const [tried, setTried] = useState(false)
  const price = priceOf(model, draft)
  const estimate = useEstimateText({ ...draft, model: model?.id ?? null })
  const untranslated = useUntranslated(draft.prompt)
  const obstacle = obstacleOf({ draft, untranslated, model, models, acceptance, available, price })
  const submit = () => {
    setTried(obstacle !== null)
    if (obstacle === null && model && price)
      void submission.submit(requestOf(draft, model.id), draft.clips, { ...price, cost: price.each })
  }
  const refused = useRefusal(submission.failure)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    submit()
  }
  return (
    <DropZone labelledBy="new-video" onKeyDown={onKeyDown}>
      <div className="relative flex min-h-0 flex-col gap-4 overflow-y-auto px-4 pt-4 pb-5 sm:px-5">
        <h2 id="new-video" className="sr-only">
          {t('new_video')}
        </h2>
        <EarlierDraft />
        {draft.continues && (
          <Suspense>
            <Continues {...draft} />
          </Suspense>
        )}
        <PromptField
          prompt={draft.prompt}
          // A prompt that was taken out comes from nowhere.
          onChange={(prompt) => changeDraft({ prompt, ...(prompt === '' && !draft.continues && { made_from: null }) })}
          error={obstacle === 'not_translated' ? t('not_translated') : refused('prompt')}
          missing={draft.mode === 'references' ? missingNames(draft.prompt, draft.files) : []}
        />
        <PromptHelp model={model?.id ?? null} prompt={draft.prompt} onChange={(prompt) => changeDraft({ prompt })} />
        <InputsField draft={draft} model={model} error={refused('files')} />
        {listing.error && <FailureNote error={listing.error} onRetry={() => void listing.refetch()} />}
        <ModelPicker
          models={models}
          chosen={model}
          onChange={(id) => changeDraft({ model: id })}
          error={refused('model') ?? (models && draft.model && !model ? t('model_gone') : null)}
        />
        {kept.is_repeat && model && (
          <Suspense>
            <ChangedByModel {...{ model, kept }} />
          </Suspense>
        )}
        <SecondsField
          seconds={draft.seconds}
          range={secondsOf(model)}
          onChange={(seconds) => changeDraft({ seconds })}
          error={refused('seconds')}
        />
        <AspectRatioField
          ratio={draft.aspect_ratio}
          ratios={ratiosOf(model)}
          onChange={(aspect_ratio) => changeDraft({ aspect_ratio })}
          error={refused('aspect_ratio')}
        />
      </div>
      <div className="flex flex-col gap-3 border-t border-line bg-surface px-4 pt-3.5 pb-3 sm:px-5 sm:max-xl:sticky sm:max-xl:bottom-0 sm:max-xl:z-10">
        <QuoteFooter
          {...{ price, estimate, obstacle, tried: tried && obstacle !== null }}
          busy={submission.busy}
          failure={submission.failure}
          clips={draft.clips}
          onClips={(clips) => changeDraft({ clips })}
          terms={
            acceptance && !acceptance.accepted ? (
              <Suspense>
                <TermsNote acceptance={acceptance} />
              </Suspense>
            ) : null
          }
          onSubmit={submit}
        />
        <p key={submission.accepted} role="status" className="sr-only">
          {submission.accepted > 0 && t('submitted')}
        </p>
      </div>
    </DropZone>
  )
}

/** Offers to restore the draft that another one replaced. */
function EarlierDraft() {
  const t = useText('videos')
  const kit = useText('kit')
  const earlier = useEarlierDraft()
  if (earlier === null) return null
  return (
    <div className="flex items-center gap-2 rounded-lg border border-line bg-sunken py-1 ps-3 pe-1 text-[0.8125rem] text-muted">
      <span className="min-w-0 grow truncate" title={earlier.prompt}>
        {t('previous_draft', { prompt: earlier.prompt })}
      </span>
      <Button size="sm" variant="ghost" icon={<Undo2 />} onClick={() => closeEarlierDraft(true)}>
        {t('restore_draft')}
      </Button>
      <IconButton size="sm" label={kit('close')} icon={<X />} onClick={() => closeEarlierDraft(false)} />
    </div>
  )
}

/** Whether the prompt would have to be translated, and this service does not. The rule is loaded with the first character beyond ASCII. */
function useUntranslated(prompt: string): boolean {
  const asked = useSite().data?.translates === false && /[^\0-\x7f]/.test(prompt)
  const { data: rule } = useQuery({
    queryKey: ['translation-rule'],
    queryFn: () => import('../../../server/videos/translation/mask.ts'),
    enabled: asked,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return asked && rule?.needsTranslation(prompt) === true
}

function chosenModel(models: VideoModel[] | null, { model }: Draft): VideoModel | null {
  if (models === null) return null
  return (model === null ? models[0] : models.find(({ id }) => id === model)) ?? null
}

function priceOf(model: VideoModel | null, { seconds, clips }: Draft): Price | null {
  const pricing = model?.pricing[0]
  if (!pricing) return null
  const { per_second, currency } = pricing
  const cost = multiply(per_second, seconds * clips)
  return { cost, each: multiply(per_second, seconds), clips, per_second, seconds, currency }
}

type State = {
  draft: Draft
  /** Whether the prompt is Japanese, which this service does not translate. */
  untranslated: boolean
  model: VideoModel | null
  models: VideoModel[] | null
  acceptance: Acceptance | null
  available: string | null
  price: Price | null
}

/** What prevents submitting, in the order in which a person would fix it; null when nothing is known to. */
function obstacleOf({ draft, untranslated, model, models, acceptance, available, price }: State): Obstacle | null {
  if (untranslated) return 'not_translated'
  const missing = missingFrom(draft)
  if (missing) return missing
  if (model === null) return models === null ? 'models_loading' : 'model_missing'
  const unfit = unfitFiles(model, draft)
  if (unfit !== null) return unfit
  if (acceptance && !acceptance.accepted) return 'terms'
  if (available !== null && price && isNegative(subtract(available, price.cost))) return 'credit'
  return null
}

/** The text of a refusal for the field it is about. */
function useRefusal(failure: Failure | null) {
  const t = useText('videos')
  const refused = failure && refusedField(failure)
  return (field: 'prompt' | 'model' | 'seconds' | 'aspect_ratio' | 'files'): string | null => {
    if (refused !== field && !(refused === 'file' && field === 'files')) return null
    return t(`refused.${refused}`)
  }
}

type DropZoneProps = { children: ReactNode; labelledBy: string; onKeyDown: (event: KeyboardEvent) => void }

/** Accepts files dropped or pasted anywhere in the studio and puts each in the slot that fits. */
function DropZone({ children, labelledBy, onKeyDown }: DropZoneProps) {
  const t = useText('videos')
  const [over, setOver] = useState(false)
  const take = (files: FileList) => {
    if (attachAnywhere([...files]) > 0) toast(t('unsupported_file'), 'danger')
  }
  const drop = (event: DragEvent) => {
    setOver(false)
    if (event.defaultPrevented || event.dataTransfer.files.length === 0) return
    event.preventDefault()
    take(event.dataTransfer.files)
  }
  const paste = (event: ClipboardEvent) => {
    const { target, clipboardData } = event
    if (clipboardData.files.length === 0 || (target as Element).closest('[data-slot]')) return
    event.preventDefault()
    take(clipboardData.files)
  }
  return (
    <section
      aria-labelledby={labelledBy}
      onKeyDown={onKeyDown}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes('Files')) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false)
      }}
      onDrop={drop}
      onPaste={paste}
      className={cx(
        'flex min-w-0 flex-col overflow-clip rounded-xl border max-xl:scroll-mt-16 bg-surface shadow-raised xl:max-h-[calc(100dvh-4rem)]',
        over ? 'border-accent ring-2 ring-accent/30' : 'border-line',
      )}
    >
      {children}
    </section>
  )
}
