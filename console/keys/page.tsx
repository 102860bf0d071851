import { KeyRound } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { EmptyState, PageHeader } from '../ui/layout.tsx'

export function KeysPage() {
  const t = useText('keys')
  return (
    <>
      <PageHeader title={t('title')} />
      <EmptyState icon={<KeyRound />} title={t('empty')} />
    </>
  )
}
