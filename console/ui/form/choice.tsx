import { Slider as RadixSlider, ToggleGroup } from 'radix-ui'
import type { FocusEvent, ReactNode } from 'react'
import { cx } from '../class-names.ts'
import { useFieldLabel, useFieldProps } from './field.tsx'

type SliderProps = {
  value: number
  onChange: (value: number) => void
  min: number
  max: number
  step?: number
  disabled?: boolean
  label?: string
}

/** A number between two others. `label` names it outside of a `Field`. */
export function Slider({ value, onChange, min, max, step = 1, disabled, label }: SliderProps) {
  const labelledBy = useFieldLabel()
  const { 'aria-describedby': describedBy } = useFieldProps() as { 'aria-describedby'?: string }
  return (
    <RadixSlider.Root
      {...{ min, max, step, disabled }}
      value={[value]}
      onValueChange={([next]) => onChange(next!)}
      className="relative flex h-9 w-full touch-none items-center select-none"
    >
      <RadixSlider.Track data-track className="relative h-1.5 grow overflow-hidden rounded-full bg-line-strong">
        <RadixSlider.Range data-filled className="absolute h-full bg-accent" />
      </RadixSlider.Track>
      <RadixSlider.Thumb
        aria-label={label}
        aria-labelledby={label ? undefined : labelledBy}
        aria-describedby={describedBy}
        className="block size-4 rounded-full border-2 border-accent bg-raised shadow-raised"
      />
    </RadixSlider.Root>
  )
}

/** For a radio of a `ToggleGroup`: the arrow keys that move between radios choose one, as they do in any other group. */
export function chosenByKey(choose: () => void): (event: FocusEvent<HTMLElement>) => void {
  return ({ currentTarget }) => {
    if (currentTarget.dataset.state === 'off' && currentTarget.matches(':focus-visible')) choose()
  }
}

type SegmentedProps<V extends string> = {
  value: V
  options: ReadonlyArray<{ value: V; label: ReactNode; icon?: ReactNode; disabled?: boolean; title?: string }>
  onChange: (value: V) => void
  /** Names the group outside of a `Field`. */
  label?: string
  className?: string
}

/** A choice among a few, all in sight. */
export function Segmented<V extends string>({ value, options, onChange, label, className }: SegmentedProps<V>) {
  const labelledBy = useFieldLabel()
  return (
    <ToggleGroup.Root
      type="single"
      value={value}
      onValueChange={(next) => next && onChange(next as V)}
      aria-label={label}
      aria-labelledby={label ? undefined : labelledBy}
      className={cx(
        'inline-flex max-w-full flex-wrap gap-0.5 rounded-lg border border-line bg-sunken p-0.5',
        className,
      )}
    >
      {options.map((option) => (
        <ToggleGroup.Item
          key={option.value}
          value={option.value}
          disabled={option.disabled}
          title={option.title}
          onFocus={chosenByKey(() => onChange(option.value))}
          className="inline-flex h-7.5 grow items-center justify-center gap-1.5 rounded-md px-2.5 text-[0.8125rem] text-muted transition-colors hover:text-ink disabled:opacity-50 data-[state=on]:bg-raised data-[state=on]:font-medium data-[state=on]:text-ink data-[state=on]:shadow-raised pointer-coarse:h-10 [&_svg]:size-4"
        >
          {option.icon}
          {option.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  )
}
