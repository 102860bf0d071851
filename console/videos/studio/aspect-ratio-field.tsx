import { ToggleGroup } from 'radix-ui'
import { useText } from '../../text/use-text.ts'
import { chosenByKey } from '../../ui/form/choice.tsx'
import { Field, useFieldLabel } from '../../ui/form/field.tsx'
import { type AspectRatio, widthByHeight } from '../draft/draft.ts'

type AspectRatioProps = {
  ratio: AspectRatio
  /** What the model renders. */
  ratios: readonly AspectRatio[]
  onChange: (ratio: AspectRatio) => void
  error: string | null
}

/** The aspect ratio, each drawn to scale. */
export function AspectRatioField({ ratio, ratios, onChange, error }: AspectRatioProps) {
  const t = useText('videos')
  return (
    <Field label={t('ratio')} error={error}>
      <Ratios {...{ ratio, ratios, onChange }} />
    </Field>
  )
}

function Ratios({ ratio, ratios, onChange }: Pick<AspectRatioProps, 'ratio' | 'ratios' | 'onChange'>) {
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
      {ratios.map((each) => (
        <ToggleGroup.Item
          key={each}
          value={each}
          aria-label={t(`ratio_name.${each}`)}
          title={t(`ratio_name.${each}`)}
          onFocus={chosenByKey(() => onChange(each))}
          className="flex h-14 min-w-0 flex-col items-center justify-between rounded-lg border border-line pt-2 pb-1.5 text-[0.6875rem] text-muted transition-colors hover:bg-hover hover:text-ink data-[state=on]:border-accent data-[state=on]:bg-accent-soft data-[state=on]:font-medium data-[state=on]:text-accent"
        >
          <RatioIcon ratio={each} />
          <span aria-hidden className="tabular-nums">
            {each === 'Auto' ? t('auto') : each}
          </span>
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  )
}

/** Side of the square that the icons fit in. */
const ICON_PIXELS = 22

function RatioIcon({ ratio }: { ratio: AspectRatio }) {
  const quotient = widthByHeight(ratio)
  const [width, height] = quotient > 1 ? [1, 1 / quotient] : [quotient, 1]
  const dashed = ratio === 'Auto' ? 'border-dashed' : ''
  return (
    <span aria-hidden className="grid grow place-items-center">
      <span
        className={`block rounded-[3px] border-[1.5px] border-current ${dashed}`}
        style={{ width: width * ICON_PIXELS, height: height * ICON_PIXELS }}
      />
    </span>
  )
}
