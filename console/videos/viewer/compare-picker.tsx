import { usePagedList } from '../../api/queries.ts'
import { useText } from '../../text/use-text.ts'
import { LoadMore } from '../../ui/data/load-more.tsx'
import { FailureNote } from '../../ui/failure-note.tsx'
import { Skeleton } from '../../ui/layout.tsx'
import { Dialog } from '../../ui/overlay/dialog.tsx'
import { useDeleting } from '../../ui/overlay/undo.tsx'
import { readablePrompt } from '../draft/prompt.ts'
import { JobThumbnail } from '../job/thumbnail.tsx'
import { type VideoJob, videoPath } from '../jobs/job.ts'

const PROMPT_CHARACTERS = 120

type PickerProps = { job: VideoJob; onClose: () => void; onChoose: (id: string) => void }

/** Picks another finished video, newest first. */
export function ComparePicker({ job, onClose, onChoose }: PickerProps) {
  const t = useText('videos')
  const list = usePagedList<VideoJob>(['videos', 'finished'], '/v1/videos', { status: 'completed', limit: 24 })
  const deleting = useDeleting()
  const others = list.rows?.filter(({ id }) => id !== job.id && !deleting.has(videoPath(id))) ?? null
  return (
    <Dialog
      open
      size="lg"
      onOpenChange={(open) => !open && onClose()}
      title={t('viewer.compare_with')}
      description={t('viewer.compare_description')}
    >
      {list.error ? <FailureNote error={list.error} onRetry={list.reload} /> : null}
      {others?.length === 0 && !list.has_more && (
        <p className="py-10 text-center text-sm text-muted">{t('viewer.compare_none')}</p>
      )}
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(10rem,1fr))] gap-2">
        {others === null && !list.error && [...Array(6).keys()].map((each) => <Skeleton key={each} className="h-36" />)}
        {others?.map((other) => (
          <li key={other.id}>
            <button
              type="button"
              onClick={() => onChoose(other.id)}
              className="block w-full rounded-lg border border-line p-1.5 text-start hover:bg-hover"
            >
              <span className="block aspect-video overflow-hidden rounded-md bg-sunken">
                <JobThumbnail job={other} />
              </span>
              <span className="mt-1 line-clamp-2 [overflow-wrap:anywhere] text-xs">
                {readablePrompt(other.prompt).slice(0, PROMPT_CHARACTERS)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <LoadMore list={list} size="sm" />
    </Dialog>
  )
}
