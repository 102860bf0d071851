import { Check } from 'lucide-react'
import { Checkbox as RadixCheckbox, Slider as RadixSlider, Switch as RadixSwitch, ToggleGroup } from 'radix-ui'
import { type ReactNode, useId } from 'react'
import { cx } from './class-names.ts'
import { useFieldLabel, useFieldProps } from './field.tsx'

type Toggle = {
  checked: boolean
  onChange: (checked: boolean) => void
  disabled?: boolean
  label?: ReactNode
  hint?: ReactNode
}

/** On or off, at once. With `label` it brings its own; without, it takes that of the `Field` around. */
export function Switch({ checked, onChange, disabled, label, hint }: Toggle) {
  const id = useId()
  const field = useFieldProps()
  const control = (
    <RadixSwitch.Root
      {...(label ? { id, 'aria-describedby': hint ? `${id}-hint` : undefined } : field)}
      checked={checked}
      onCheckedChange={onChange}
      disabled={disabled}
      className="mt-px inline-flex h-5 w-9 shrink-0 items-center rounded-full bg-control p-0.5 transition-colors disabled:opacity-55 data-[state=checked]:bg-accent"
    >
      <RadixSwitch.Thumb className="size-4 rounded-full bg-canvas shadow-raised transition-transform data-[state=checked]:translate-x-4" />
    </RadixSwitch.Root>
  )
  return label ? <Labelled {...{ id, label, hint, control }} /> : control
}

/** One of several things that may be chosen, or an agreement. */
export function Checkbox({ checked, onChange, disabled, label, hint }: Toggle) {
  const id = useId()
  const field = useFieldProps()
  const control = (
    <RadixCheckbox.Root
      {...(label ? { id, 'aria-describedby': hint ? `${id}-hint` : undefined } : field)}
      checked={checked}
      onCheckedChange={(now) => onChange(now === true)}
      disabled={disabled}
      className="mt-0.5 grid size-4 shrink-0 place-items-center rounded border border-control bg-raised disabled:opacity-55 data-[state=checked]:border-accent data-[state=checked]:bg-accent"
    >
      <RadixCheckbox.Indicator>
        <Check className="size-3 text-on-accent" strokeWidth={3} />
      </RadixCheckbox.Indicator>
    </RadixCheckbox.Root>
  )
  return label ? <Labelled {...{ id, label, hint, control }} /> : control
}

function Labelled({
  id,
  label,
  hint,
  control,
}: {
  id: string
  label: ReactNode
  hint?: ReactNode
  control: ReactNode
}) {
  return (
    <div className="flex items-start gap-2.5">
      {control}
      <div className="min-w-0">
        <label htmlFor={id} className="text-sm">
          {label}
        </label>
        {hint && (
          <p id={`${id}-hint`} className="text-[0.8125rem] text-muted">
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}

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
      <RadixSlider.Track className="relative h-1.5 grow overflow-hidden rounded-full bg-line-strong">
        <RadixSlider.Range className="absolute h-full bg-accent" />
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
          className="inline-flex h-7.5 grow items-center justify-center gap-1.5 rounded-md px-2.5 text-[0.8125rem] text-muted transition-colors hover:text-ink disabled:opacity-50 data-[state=on]:bg-raised data-[state=on]:font-medium data-[state=on]:text-ink data-[state=on]:shadow-raised pointer-coarse:h-10 [&_svg]:size-4"
        >
          {option.icon}
          {option.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  )
}
