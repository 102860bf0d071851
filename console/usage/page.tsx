import { ChartColumn } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { EmptyState, PageHeader } from '../ui/layout.tsx'

export function UsagePage() {
  const t = useText('usage')
  return (
    <>
      <PageHeader title={t('title')} />
      <EmptyState icon={<ChartColumn />} title={t('empty')} />
    </>
  )
}
