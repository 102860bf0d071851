import { BookOpen } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { EmptyState, PageHeader } from '../ui/layout.tsx'

export function GuidesPage() {
  const t = useText('guides')
  return (
    <>
      <PageHeader title={t('title')} />
      <EmptyState icon={<BookOpen />} title={t('empty')} />
    </>
  )
}
