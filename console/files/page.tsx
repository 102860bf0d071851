import { Folder } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { EmptyState, PageHeader } from '../ui/layout.tsx'

export function FilesPage() {
  const t = useText('files')
  return (
    <>
      <PageHeader title={t('title')} />
      <EmptyState icon={<Folder />} title={t('empty')} />
    </>
  )
}
