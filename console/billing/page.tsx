import { Receipt } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { EmptyState, PageHeader } from '../ui/layout.tsx'

export function BillingPage() {
  const t = useText('billing')
  return (
    <>
      <PageHeader title={t('title')} />
      <EmptyState icon={<Receipt />} title={t('empty')} />
    </>
  )
}
