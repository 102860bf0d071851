import { ToggleGroup } from 'radix-ui'
import { useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Slider } from '../../ui/form/choice.tsx'
import { Field, useFieldLabel } from '../../ui/form/field.tsx'
import { Input } from '../../ui/form/input.tsx'
import { ASPECT_RATIOS, type AspectRatio, clampSeconds, SECONDS } from './draft.ts'

type SecondsProps = { seconds: number; onChange: (seconds: number) => void; error: string | null }

/** How long the video lasts: by hand on a slider, or typed. */
export function SecondsField({ seconds, onChange, error }: SecondsProps) {
  const t = useText('videos')
  const [typed, setTyped] = useState<string | null>(null)
  const type = (text: string) => {
    setTyped(text)
    const value = Number(text)
    if (Number.isInteger(value) && value >= SECONDS.min && value <= SECONDS.max) onChange(value)
  }
  const leave = () => {
    const value = typed ? clampSeconds(Number(typed)) : null
    if (value !== null) onChange(value)
    setTyped(null)
  }
  return (
    <Field label={t('seconds')} error={error}>
      <div className="flex items-center gap-4">
        <Slider {...SECONDS} value={seconds} onChange={onChange} label={t('seconds')} />
        <div className="flex shrink-0 items-center gap-1.5">
          <Input
            type="number"
            inputMode="numeric"
            {...SECONDS}
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

type RatioProps = { ratio: AspectRatio; onChange: (ratio: AspectRatio) => void; error: string | null }

/** The shape of the picture, each drawn as it is. */
export function RatioField({ ratio, onChange, error }: RatioProps) {
  const t = useText('videos')
  return (
    <Field label={t('ratio')} error={error}>
      <Ratios {...{ ratio, onChange }} />
    </Field>
  )
}

function Ratios({ ratio, onChange }: Pick<RatioProps, 'ratio' | 'onChange'>) {
  const t = useText('videos')
  const label = useFieldLabel()
  return (
    <ToggleGroup.Root
      type="single"
      value={ratio}
      aria-labelledby={label}
      onValueChange={(next) => next && onChange(next as AspectRatio)}
      className="grid grid-cols-7 gap-1"
    >
      {ASPECT_RATIOS.map((each) => (
        <ToggleGroup.Item
          key={each}
          value={each}
          aria-label={t(`ratio_name.${each}`)}
          title={t(`ratio_name.${each}`)}
          className="flex h-14 min-w-0 flex-col items-center justify-between rounded-lg border border-line pt-2 pb-1.5 text-[0.6875rem] text-muted transition-colors hover:bg-hover hover:text-ink data-[state=on]:border-accent data-[state=on]:bg-accent-soft data-[state=on]:font-medium data-[state=on]:text-accent"
        >
          <RatioPicture ratio={each} />
          <span aria-hidden className="tabular-nums">
            {each === 'Auto' ? t('auto') : each}
          </span>
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  )
}

/** Side of the square that the pictures fit in. */
const PICTURE_PIXELS = 22

function RatioPicture({ ratio }: { ratio: AspectRatio }) {
  const shape = shapeOf(ratio)
  const [width, height] = shape > 1 ? [1, 1 / shape] : [shape, 1]
  const dashed = ratio === 'Auto' ? 'border-dashed' : ''
  return (
    <span aria-hidden className="grid grow place-items-center">
      <span
        className={`block rounded-[3px] border-[1.5px] border-current ${dashed}`}
        style={{ width: width * PICTURE_PIXELS, height: height * PICTURE_PIXELS }}
      />
    </span>
  )
}

/** Width by height; Auto is drawn wide. */
export function shapeOf(ratio: AspectRatio): number {
  if (ratio === 'Auto') return 16 / 9
  const [width, height] = ratio.split(':').map(Number) as [number, number]
  return width / height
}
