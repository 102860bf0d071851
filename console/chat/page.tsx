import { MessageSquare } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { EmptyState, PageHeader } from '../ui/layout.tsx'

export function ChatPage() {
  const t = useText('chat')
  return (
    <>
      <PageHeader title={t('title')} />
      <EmptyState icon={<MessageSquare />} title={t('empty')} />
    </>
  )
}
