import { type MouseEvent, use } from 'react'
import { useText } from '../../text/use-text.ts'
import { cx } from '../../ui/class-names.ts'
import type { VideoJob } from '../jobs/job.ts'
import { SelectionContext } from './selection.ts'

/** Covers a card, whose link does not lead anywhere while videos are selected. */
export function SelectBox({ job, name }: { job: VideoJob; name: string }) {
  const t = useText('videos/clips')
  const { chosen, toggle } = use(SelectionContext)!
  const isChosen = chosen.has(job.id)
  const onClick = ({ shiftKey }: MouseEvent) => toggle(job, shiftKey)
  return (
    <label
      className={cx(
        'absolute inset-0 cursor-pointer rounded-xl select-none has-focus-visible:outline-2 has-focus-visible:outline-accent',
        isChosen && 'border-2 border-accent',
      )}
    >
      <input
        type="checkbox"
        aria-label={t('select_one', { name })}
        checked={isChosen}
        onChange={() => {}}
        onClick={onClick}
        className="absolute start-3 top-3 size-5 cursor-pointer accent-accent"
      />
    </label>
  )
}
