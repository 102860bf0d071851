import { useQueryClient } from '@tanstack/react-query'
import { Download, Ellipsis, RotateCcw, Star, Tag, Trash2 } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { useMakersOfPages } from '../../api/queries.ts'
import { useMayDelete } from '../../api/session.ts'
import { useText } from '../../text/use-text.ts'
import { Button, buttonClass, IconButton } from '../../ui/button.tsx'
import { Dialog } from '../../ui/overlay/dialog.tsx'
import { Menu } from '../../ui/overlay/menu.tsx'
import { toast } from '../../ui/overlay/toast.ts'
import { useDeleteJobs } from '../jobs/delete-jobs.ts'
import { isRunning, type VideoJob } from '../jobs/job.ts'
import { type ListFilter, pageQuery } from '../jobs/job-cache.ts'
import { type JobList, lengthOf } from '../jobs/list-pages.ts'
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

/** What can be done with the videos that are selected; in a menu where there is no room. Escape ends selecting. */
export function SelectBar({ pages, query, onSelection, onEnd }: BarProps) {
  const t = useText('videos/clips')
  const videos = useText('videos')
  const { chosen, clear, selectShown } = useChosen({ pages, query, onSelection })
  const { mutate } = useChangeLabels()
  const [asking, setAsking] = useState<'retry' | 'tag' | null>(null)
  const ids = [...chosen.keys()]
  const jobs = [...chosen.values()]
  const completed = jobs.filter(({ status }) => status === 'completed').map(({ id }) => id)
  const failed = jobs.filter(({ status }) => status === 'failed')
  const remove = useDeleteChosen(jobs, clear)
  const end = () => keepPlace(onEnd)
  const close = () => setAsking(null)
  useEscape(end)
  return (
    <section
      aria-label={t('selection')}
      data-select-bar
      className="sticky top-13 z-15 mb-3 flex flex-wrap items-center gap-2 rounded-xl border border-line bg-raised px-3 py-2 shadow-float lg:top-2"
    >
      <p role="status" className="me-auto text-sm font-medium tabular-nums">
        {t('selected', { count: ids.length })}
      </p>
      <Button size="sm" variant="ghost" title={t('select_shown_hint', { count: CHOSEN_MAX })} onClick={selectShown}>
        {t('select_shown')}
      </Button>
      {ids.length > 0 && (
        <div className="flex items-center justify-end gap-2 max-sm:order-1 max-sm:w-full sm:flex-wrap">
          {completed.length > 0 && (
            <a
              href={`/console/videos/archive?ids=${completed.join()}`}
              download
              className={buttonClass({ variant: 'primary', size: 'sm' }, 'max-sm:grow')}
            >
              <Download aria-hidden />
              {t('download_zip', { count: completed.length })}
            </a>
          )}
          <div className="flex flex-wrap items-center gap-2 max-sm:hidden">
            <Button size="sm" icon={<Star />} onClick={() => mutate({ ids, favorite: true })}>
              {t('add_favorites')}
            </Button>
            <AddTag ids={ids} />
            <Button
              size="sm"
              icon={<Trash2 />}
              aria-disabled={remove.count === 0 || undefined}
              title={remove.hint}
              onClick={remove.run}
            >
              {t('delete', { count: remove.count })}
            </Button>
            {failed.length > 0 && (
              <Button size="sm" icon={<RotateCcw />} onClick={() => setAsking('retry')}>
                {t('retry', { count: failed.length })}
              </Button>
            )}
          </div>
          <Menu
            trigger={
              <IconButton
                size="sm"
                variant="secondary"
                label={videos('more')}
                icon={<Ellipsis />}
                className="sm:hidden"
              />
            }
            items={[
              { label: t('add_favorites'), icon: <Star />, onSelect: () => mutate({ ids, favorite: true }) },
              { label: t('tag_placeholder'), icon: <Tag />, onSelect: () => setAsking('tag') },
              ...(failed.length > 0
                ? [
                    {
                      label: t('retry', { count: failed.length }),
                      icon: <RotateCcw />,
                      onSelect: () => setAsking('retry'),
                    },
                  ]
                : []),
              {
                ...{
                  label: t('delete', { count: remove.count }),
                  icon: <Trash2 />,
                  onSelect: remove.run,
                  danger: true,
                },
                ...(remove.count === 0 && { disabled: true, hint: remove.hint }),
              },
            ]}
          />
        </div>
      )}
      <Button size="sm" variant="ghost" onClick={end}>
        {t('done')}
      </Button>
      {asking === 'retry' && <RetryDialog jobs={failed} onClose={close} onSent={clear} />}
      {asking === 'tag' && (
        <Dialog open size="sm" onOpenChange={(open) => !open && close()} title={t('tag_placeholder')}>
          <AddTag ids={ids} onAdded={close} />
        </Dialog>
      )}
    </section>
  )
}

/** What is selected, as the cards are given it. */
function useChosen({ pages, query, onSelection }: Omit<BarProps, 'onEnd'>) {
  const t = useText('videos/clips')
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<Chosen>(new Map())
  const anchor = useRef<string | null>(null)
  const add = (jobs: readonly VideoJob[]) => {
    const all = new Map([...chosen, ...jobs.map((each) => [each.id, each] as const)])
    if (all.size > CHOSEN_MAX) toast(t('too_many', { count: CHOSEN_MAX }), 'danger')
    setChosen(new Map([...all].slice(0, CHOSEN_MAX)))
  }
  const jobsOf = async (within: JobList): Promise<VideoJob[]> => {
    const read = await Promise.all(
      within.map(({ after }) => queries.ensureQueryData(pageQuery(queries, after, false, query))),
    )
    return read.flatMap(({ data }) => data)
  }
  const selectShown = async () => {
    const enough = pages.findIndex((_, at) => lengthOf(pages.slice(0, at)) > CHOSEN_MAX)
    add(await jobsOf(enough < 0 ? pages : pages.slice(0, enough)))
  }
  const between = async (one: string, other: string): Promise<VideoJob[]> => {
    const [oldest, newest] = [one, other].toSorted() as [string, string]
    const within = pages.filter(({ after }, at) => {
      const next = pages[at + 1]?.after
      return (after === null || after > oldest) && (!next || next <= newest)
    })
    return (await jobsOf(within)).filter(({ id }) => id >= oldest && id <= newest)
  }
  const latest = useRef<Selection['toggle']>(() => {})
  latest.current = async (job, range) => {
    const from = anchor.current
    anchor.current = job.id
    if (!range && chosen.has(job.id)) return setChosen(new Map([...chosen].filter(([id]) => id !== job.id)))
    const added = range && from !== null ? await between(from, job.id) : [job]
    add(added)
  }
  useEffect(() => {
    onSelection({ chosen, toggle: (job, range) => latest.current(job, range), Box: SelectBox })
  }, [chosen, onSelection])
  useEffect(() => () => onSelection(null), [onSelection])
  return { chosen, clear: () => setChosen(new Map()), selectShown: () => void selectShown() }
}

/** Deletes those that have ended and that the person may delete, unless they undo it; `hint`: why those are not all. */
function useDeleteChosen(jobs: readonly VideoJob[], onDelete: () => void) {
  const t = useText('videos/clips')
  const kit = useText('kit')
  const deleteJobs = useDeleteJobs()
  const makers = useMakersOfPages([jobs.map(({ id }) => id)])
  const mayDelete = useMayDelete()
  const allowed = jobs.filter((job) => !isRunning(job) && mayDelete(makers.get(job.id)))
  const run = () => {
    const [first, ...others] = allowed.map(({ id }) => id)
    if (first === undefined) return
    void deleteJobs([first, ...others], t('deleted', { count: allowed.length }))
    onDelete()
  }
  const isAll = allowed.length === jobs.length
  const hint = isAll ? undefined : jobs.some(isRunning) ? t('ended_only') : kit('delete_own_only')
  return { count: allowed.length, hint, run }
}

/** Keeps the cards where they are in the window while `change` removes what is above them. */
function keepPlace(change: () => void): void {
  const cards = [...document.querySelectorAll('a[data-job-status]')]
  const first = cards.find((card) => card.getBoundingClientRect().bottom > 0)
  const before = first?.getBoundingClientRect().top ?? 0
  flushSync(change)
  scrollBy(0, (first?.getBoundingClientRect().top ?? before) - before)
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
