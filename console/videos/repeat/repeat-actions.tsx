import { Copy, FastForward, Replace } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useLabelsOfPages } from '../../api/queries.ts'
import { useVideoModels } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { Button, Link } from '../../ui/button.tsx'
import { accepts } from '../draft/models.ts'
import { beginningOf } from '../draft/prompt.ts'
import { useUseAgain } from '../job/use-again.ts'
import type { VideoJob } from '../jobs/job.ts'
import { TryAgain } from './try-again.tsx'
import { useExtend } from './use-extend.ts'
import { useOrigin } from './use-origin.ts'

/** How many clips a person who varies one is offered; more or fewer are a click away. */
const VARIATIONS = 3
/** Of a clip that is continued. */
const TITLE_CHARACTERS = 60

/** What makes the next clip from one that has ended. */
export function RepeatActions({ job, children }: { job: VideoJob; children?: ReactNode }) {
  const t = useText('videos/repeat')
  const fillForm = useUseAgain()
  const models = useVideoModels().data ?? []
  const isCompleted = job.status === 'completed'
  return (
    // biome-ignore lint/a11y/useSemanticElements: no form, and no legend is shown.
    <div role="group" aria-label={t('next')} className={`flex flex-wrap gap-2 ${isCompleted ? '' : 'justify-center'}`}>
      {isCompleted && (
        <Button
          icon={<Copy />}
          title={t('vary_hint')}
          onClick={() => void fillForm(job, { clips: VARIATIONS, done: t('vary_done') })}
        >
          {t('vary')}
        </Button>
      )}
      {isCompleted && models.some((model) => accepts(model, 'first_frame')) && <Extend job={job} />}
      {job.status === 'failed' && <TryAgain job={job} model={models.find(({ id }) => id === job.model)} />}
      {models.some(({ id }) => id !== job.model) && (
        <Button icon={<Replace />} onClick={() => void fillForm(job, { opens_at: 'models' })}>
          {t('another_model')}
        </Button>
      )}
      {children}
      <TriedAgain job={job} />
    </div>
  )
}

function Extend({ job }: { job: VideoJob }) {
  const t = useText('videos/repeat')
  const extend = useExtend()
  const name = useLabelsOfPages([[job.id]]).get(job.id)?.name
  const [busy, setBusy] = useState(false)
  const start = async () => {
    setBusy(true)
    await extend(job, beginningOf(name ?? job.prompt, TITLE_CHARACTERS)).finally(() => setBusy(false))
  }
  return (
    <>
      <Button icon={<FastForward />} title={t('extend_hint')} busy={busy} onClick={() => void start()}>
        {t(busy ? 'extending' : 'extend')}
      </Button>
      <span role="status" className="sr-only">
        {busy && t('extending')}
      </span>
    </>
  )
}

/** That a failed clip was tried again, with the way to the newest attempt; nothing for others. */
function TriedAgain({ job }: { job: VideoJob }) {
  const t = useText('videos/repeat')
  const { followed_by } = useOrigin(job.id)
  if (job.status !== 'failed' || !followed_by) return null
  return (
    <p className="w-full text-sm">
      <Link to="/videos/$id" params={{ id: followed_by }}>
        {t('tried_again')}
      </Link>
    </p>
  )
}
