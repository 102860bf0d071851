import { useText } from '../../text/use-text.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { useFailureText } from '../../ui/failure-text.ts'
import { type Attachment, type Problem, RULES, type Slot } from '../draft/attachments.ts'

/** What is wrong with a file and what to do about it; null when nothing is. */
export function useProblemText(slot: Slot, { problem, bytes }: Attachment): string | null {
  const t = useText('videos')
  const format = useFormat()
  const failure = useFailureText(problem?.code === 'upload' ? problem.error : null)
  const { seconds, bytes_max } = RULES[slot]
  const [from, to] = seconds ?? [0, 0]
  if (problem === null) return null
  if (problem.code === 'upload') return failure
  const size = megabytes(format.locale, bytes, 'ceil')
  return t(`problem.${problem.code satisfies Exclude<Problem['code'], 'upload'>}`, {
    formats: format.list(RULES[slot].formats),
    from,
    to,
    size,
    max: megabytes(format.locale, bytes_max, 'floor'),
  })
}

/** What a slot accepts, shown before anything is chosen. `count_max`: how many files the model takes there. */
export function useLimitText(slot: Slot, count_max = RULES[slot].count_max): string {
  const t = useText('videos')
  const { list, locale } = useFormat()
  const { bytes_max, seconds } = RULES[slot]
  const formats = list(RULES[slot].formats)
  const size = megabytes(locale, bytes_max, 'floor')
  if (seconds) return t('limit.timed', { n: count_max, formats, size, from: seconds[0], to: seconds[1] })
  return count_max === 1 ? t('limit.one', { formats, size }) : t('limit.many', { n: count_max, formats, size })
}

/** In the unit of file lists. A size is rounded up and a limit down, so that a size over the limit never looks equal to it. */
function megabytes(locale: string, bytes: number, roundingMode: 'ceil' | 'floor'): string {
  const unit = { style: 'unit', unit: 'megabyte', maximumFractionDigits: 1, roundingMode } as const
  return new Intl.NumberFormat(locale, unit).format(bytes / 1_000_000)
}
