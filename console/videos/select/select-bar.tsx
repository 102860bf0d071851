import { useQueryClient } from '@tanstack/react-query'
import { Download, RotateCcw, Star, Trash2 } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useMakersOfPages } from '../../api/queries.ts'
import { useMayDelete } from '../../api/session.ts'
import { useText } from '../../text/use-text.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { toast } from '../../ui/overlay/toast.ts'
import { deleteWithUndo } from '../../ui/overlay/undo.tsx'
import { isRunning, type VideoJob, videoPath } from '../jobs/job.ts'
import { forgetJob, type ListFilter, pageQuery } from '../jobs/job-cache.ts'
import type { JobList } from '../jobs/list-pages.ts'
import { useChangeLabels } from '../labels/change-labels.ts'
import { AddTag } from './add-tag.tsx'
import { RetryDialog } from './retry-dialog.tsx'
import { SelectBox } from './select-box.tsx'
import type { Selection } from './selection.ts'

/** As many as one archive, and one change of labels, may name. */
const CHOSEN_MAX = 100
type Chosen = ReadonlyMap<string, VideoJob>

type BarProps = {
  pages: JobList
  query: ListFilter
  onSelection: (selection: Selection | null) => void
  onEnd: () => void
}

/** What can be done with the videos that are selected. Escape ends selecting. */
export function SelectBar({ pages, query, onSelection, onEnd }: BarProps) {
  const t = useText('videos/clips')
  const { chosen, clear } = useChosen({ pages, query, onSelection })
  const { mutate } = useChangeLabels()
  const [retrying, setRetrying] = useState(false)
  const ids = [...chosen.keys()]
  const jobs = [...chosen.values()]
  const completed = jobs.filter(({ status }) => status === 'completed').map(({ id }) => id)
  const failed = jobs.filter(({ status }) => status === 'failed')
  useEscape(onEnd)
  return (
    <section
      aria-label={t('selection')}
      className="sticky top-13 z-15 mb-3 flex flex-wrap items-center gap-2 rounded-xl border border-line bg-raised px-3 py-2 shadow-float lg:top-2"
    >
      <p role="status" className="me-auto text-sm font-medium tabular-nums">
        {t('selected', { count: ids.length })}
      </p>
      {completed.length > 0 && (
        <a
          href={`/console/videos/archive?ids=${completed.join()}`}
          download
          className={buttonClass({ variant: 'primary', size: 'sm' })}
        >
          <Download aria-hidden />
          {t('download_zip', { count: completed.length })}
        </a>
      )}
      {ids.length > 0 && (
        <>
          <Button size="sm" icon={<Star />} onClick={() => mutate({ ids, favorite: true })}>
            {t('add_favorites')}
          </Button>
          <AddTag ids={ids} />
          <DeleteChosen jobs={jobs} onDelete={clear} />
        </>
      )}
      {failed.length > 0 && (
        <Button size="sm" icon={<RotateCcw />} onClick={() => setRetrying(true)}>
          {t('retry', { count: failed.length })}
        </Button>
      )}
      <Button size="sm" variant="ghost" onClick={onEnd}>
        {t('done')}
      </Button>
      {retrying && <RetryDialog jobs={failed} onClose={() => setRetrying(false)} onSent={clear} />}
    </section>
  )
}

/** What is selected, as the cards are given it. */
function useChosen({ pages, query, onSelection }: Omit<BarProps, 'onEnd'>) {
  const t = useText('videos/clips')
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<Chosen>(new Map())
  const anchor = useRef<string | null>(null)
  const between = async (one: string, other: string): Promise<VideoJob[]> => {
    const [oldest, newest] = [one, other].toSorted() as [string, string]
    const within = pages.filter(({ after }, at) => {
      const next = pages[at + 1]?.after
      return (after === null || after > oldest) && (!next || next <= newest)
    })
    const read = await Promise.all(
      within.map(({ after }) => queries.ensureQueryData(pageQuery(queries, after, false, query))),
    )
    return read.flatMap(({ data }) => data).filter(({ id }) => id >= oldest && id <= newest)
  }
  const latest = useRef<Selection['toggle']>(() => {})
  latest.current = async (job, range) => {
    const from = anchor.current
    anchor.current = job.id
    if (!range && chosen.has(job.id)) return setChosen(new Map([...chosen].filter(([id]) => id !== job.id)))
    const added = range && from !== null ? await between(from, job.id) : [job]
    const all = new Map([...chosen, ...added.map((each) => [each.id, each] as const)])
    if (all.size > CHOSEN_MAX) toast(t('too_many', { count: CHOSEN_MAX }), 'danger')
    setChosen(new Map([...all].slice(0, CHOSEN_MAX)))
  }
  useEffect(() => {
    onSelection({ chosen, toggle: (job, range) => latest.current(job, range), Box: SelectBox })
  }, [chosen, onSelection])
  useEffect(() => () => onSelection(null), [onSelection])
  return { chosen, clear: () => setChosen(new Map()) }
}

/** Deletes those that have ended and that the person may delete, unless they undo it. */
function DeleteChosen({ jobs, onDelete }: { jobs: readonly VideoJob[]; onDelete: () => void }) {
  const t = useText('videos/clips')
  const kit = useText('kit')
  const queries = useQueryClient()
  const makers = useMakersOfPages([jobs.map(({ id }) => id)])
  const mayDelete = useMayDelete()
  const allowed = jobs.filter((job) => !isRunning(job) && mayDelete(makers.get(job.id)))
  const remove = () => {
    const [first, ...others] = allowed.map(({ id }) => videoPath(id))
    if (first === undefined) return
    deleteWithUndo({
      paths: [first, ...others],
      text: t('deleted', { count: allowed.length }),
      onDeleted: () => allowed.map(({ id }) => forgetJob(queries, id)),
      onRestored: () => queries.invalidateQueries({ queryKey: ['videos'] }),
    })
    for (const { id } of allowed) forgetJob(queries, id)
    onDelete()
  }
  return (
    <Button
      size="sm"
      icon={<Trash2 />}
      aria-disabled={allowed.length === 0 || undefined}
      title={
        allowed.length < jobs.length ? (jobs.some(isRunning) ? t('ended_only') : kit('delete_own_only')) : undefined
      }
      onClick={remove}
    >
      {t('delete', { count: allowed.length })}
    </Button>
  )
}

/** Not while something else is open that Escape closes, nor where a text is typed. */
function useEscape(onEnd: () => void): void {
  const latest = useRef(onEnd)
  latest.current = onEnd
  useEffect(() => {
    const onKeyDown = ({ key, target, defaultPrevented }: KeyboardEvent) => {
      const isTyped = target instanceof Element && target.closest('input:not([type=checkbox]), textarea, select')
      if (key !== 'Escape' || defaultPrevented || isTyped || document.querySelector('[role=dialog], [role=menu]'))
        return
      latest.current()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}
