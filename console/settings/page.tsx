import { Settings } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { EmptyState, PageHeader } from '../ui/layout.tsx'

export function SettingsPage() {
  const t = useText('settings')
  return (
    <>
      <PageHeader title={t('title')} />
      <EmptyState icon={<Settings />} title={t('empty')} />
    </>
  )
}
