import { useText } from '../text/use-text.ts'
import { useFormat } from '../ui/data/format.tsx'
import type { UsageSum } from './series.ts'

export type Dimension = 'day' | 'model' | 'key' | 'person'

/** The display name of a group: its name, or its id when it has none. */
export function useGroupNames(by: Dimension): (sum: UsageSum) => string {
  const t = useText('usage')
  const { locale } = useFormat()
  return ({ group, name }) => {
    if (by === 'day' && group !== null)
      return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(group))
    if (name) return name
    return group ?? t('console')
  }
}
