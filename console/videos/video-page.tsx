import { useText } from '../text/use-text.ts'
import { PageHeader } from '../ui/layout.tsx'

export function VideoPage() {
  const t = useText('videos')
  return <PageHeader title={t('title')} />
}
