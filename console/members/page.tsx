import { Users } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { EmptyState, PageHeader } from '../ui/layout.tsx'

export function MembersPage() {
  const t = useText('members')
  return (
    <>
      <PageHeader title={t('title')} />
      <EmptyState icon={<Users />} title={t('empty')} />
    </>
  )
}
