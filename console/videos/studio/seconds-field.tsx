import { useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Slider } from '../../ui/form/choice.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Input } from '../../ui/form/input.tsx'

type SecondsProps = {
  seconds: number
  /** What the model renders. */
  range: { min: number; max: number }
  onChange: (seconds: number) => void
  error: string | null
}

/** The length of the video: a slider, or typed. */
export function SecondsField({ seconds, range, onChange, error }: SecondsProps) {
  const t = useText('videos')
  const [typed, setTyped] = useState<string | null>(null)
  const type = (text: string) => {
    setTyped(text)
    const value = Number(text)
    if (Number.isInteger(value) && value >= range.min && value <= range.max) onChange(value)
  }
  const leave = () => {
    const value = typed ? Math.round(Number(typed)) : Number.NaN
    if (Number.isFinite(value)) onChange(Math.min(range.max, Math.max(range.min, value)))
    setTyped(null)
  }
  return (
    <Field label={t('seconds')} error={error}>
      <div className="flex items-center gap-4">
        <Slider {...range} value={seconds} onChange={onChange} label={t('seconds')} />
        <div className="flex shrink-0 items-center gap-1.5">
          <Input
            type="number"
            inputMode="numeric"
            {...range}
            step={1}
            aria-label={t('seconds_number')}
            value={typed ?? seconds}
            onChange={(event) => type(event.target.value)}
            onBlur={leave}
            className="w-15! px-2! text-center tabular-nums [appearance:textfield] [&::-webkit-inner-spin-button]:appearance-none"
          />
          <span className="text-sm text-muted">{t('seconds_unit')}</span>
        </div>
      </div>
    </Field>
  )
}
