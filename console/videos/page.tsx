import { Clapperboard } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { EmptyState, PageHeader } from '../ui/layout.tsx'

export function VideosPage() {
  const t = useText('videos')
  return (
    <>
      <PageHeader title={t('title')} />
      <EmptyState icon={<Clapperboard />} title={t('empty')} />
    </>
  )
}
