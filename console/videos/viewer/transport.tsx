import { Repeat, StepBack, StepForward } from 'lucide-react'
import type { ReactNode } from 'react'
import { useText } from '../../text/use-text.ts'
import { IconButton } from '../../ui/button.tsx'
import { useFormat } from '../../ui/data/format.tsx'
import { Select } from '../../ui/form/input.tsx'
import { useKeys } from './keys.ts'
import { changeSpeed, changeViewing, SPEEDS, toggleLoop, useViewing } from './viewing.ts'

type TransportProps = {
  /** Goes this many frames on, or back. */
  onStep: (frames: 1 | -1) => void
  children?: ReactNode
}

/** Frame by frame, loop and speed, by button and key. */
export function Transport({ onStep, children }: TransportProps) {
  const t = useText('videos')
  const { number } = useFormat()
  const { loop, speed } = useViewing()
  useKeys({
    ',': () => onStep(-1),
    '.': () => onStep(1),
    '<': () => changeSpeed(-1),
    '>': () => changeSpeed(1),
    l: toggleLoop,
  })
  return (
    <fieldset aria-label={t('viewer.controls')} className="flex flex-wrap items-center gap-2">
      <IconButton
        variant="secondary"
        label={t('viewer.frame_back')}
        icon={<StepBack />}
        aria-keyshortcuts=","
        onClick={() => onStep(-1)}
      />
      <IconButton
        variant="secondary"
        label={t('viewer.frame_forward')}
        icon={<StepForward />}
        aria-keyshortcuts="."
        onClick={() => onStep(1)}
      />
      <IconButton
        variant="secondary"
        label={t('viewer.loop')}
        icon={<Repeat />}
        aria-pressed={loop}
        aria-keyshortcuts="l"
        className={loop ? 'border-accent! bg-accent-soft! text-accent!' : ''}
        onClick={toggleLoop}
      />
      <Select
        className="w-24"
        aria-label={t('viewer.speed')}
        value={String(speed)}
        options={SPEEDS.map((each) => ({ value: String(each), label: t('viewer.speed_value', { n: number(each) }) }))}
        onChange={(chosen) => changeViewing({ speed: Number(chosen) })}
      />
      {children}
    </fieldset>
  )
}
