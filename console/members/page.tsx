import { Lock, UserPlus } from 'lucide-react'
import { useState } from 'react'
import { useIsManager, useSession } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { EmptyState, PageHeader } from '../ui/layout.tsx'
import { Activity } from './activity.tsx'
import { Deleting } from './deleting.tsx'
import { Invitations } from './invitations.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { People } from './people.tsx'

export function MembersPage() {
  const t = useText('members')
  const { organization } = useSession()
  const isManager = useIsManager()
  const [inviting, setInviting] = useState(false)
  if (!isManager) {
    return (
      <>
        <PageHeader title={t('title')} />
        <EmptyState icon={<Lock />} title={t('not_allowed_title')}>
          {t('not_allowed_text')}
        </EmptyState>
      </>
    )
  }
  const invite = (
    <Button variant="primary" icon={<UserPlus />} onClick={() => setInviting(true)}>
      {t('invite')}
    </Button>
  )
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t('description', { organization: organization.name })}
        actions={invite}
      />
      <People />
      <h2 className="mt-8 mb-3 text-sm font-semibold">{t('invitations')}</h2>
      <Invitations />
      <h2 className="mt-8 mb-3 text-sm font-semibold">{t('deleting.title')}</h2>
      <Deleting />
      <h2 className="mt-8 mb-3 text-sm font-semibold">{t('activity.title')}</h2>
      <Activity />
      <InviteDialog open={inviting} onOpenChange={setInviting} />
    </>
  )
}
