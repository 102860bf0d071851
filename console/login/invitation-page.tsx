import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { InvitationPreview } from '../../server/identity/schema.ts'
import { failureOf } from '../api/failure.ts'
import { request } from '../api/request.ts'
import { endSession, SESSION_KEY, type Session, useSignOut } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { FailureNote, FormError, Note } from '../ui/failure-note.tsx'
import { Skeleton, usePageTitle } from '../ui/layout.tsx'
import { useAccept } from './accept-invitation.ts'
import { readInvitation } from './invitation-token.ts'
import { LoginFrame, LoginTitle } from './login-frame.tsx'
import { NewAccountForm } from './new-account-form.tsx'

/** The page of an invitation: organization, role and address, then how this person can join. */
export function InvitationPage() {
  const t = useText('login')
  usePageTitle(t('accept_title'))
  const [token] = useState(readInvitation)
  return (
    <LoginFrame>
      <LoginTitle>{t('accept_title')}</LoginTitle>
      {token ? <Invitation token={token} /> : <Note tone="warning">{t('broken_invitation')}</Note>}
    </LoginFrame>
  )
}

function Invitation({ token }: { token: string }) {
  const t = useText('login')
  const { data, error, refetch } = useQuery({
    // Under `site`: it does not depend on the session, so a new session does not reload it.
    queryKey: ['site', 'invitation', token],
    queryFn: ({ signal }) =>
      request<InvitationPreview>('POST', '/console/invitations/preview', { body: { token }, signal }),
    retry: false,
  })
  if (error)
    return failureOf(error).code === 'not_found' ? (
      <>
        <Note tone="warning">{t('invitation_over')}</Note>
        <ButtonLink to="/" variant="secondary" size="lg">
          {t('to_console')}
        </ButtonLink>
      </>
    ) : (
      <FailureNote error={error} onRetry={() => void refetch()} />
    )
  if (!data) return <Skeleton className="h-32 w-full rounded-lg" />
  const { organization, role, email } = data
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-col gap-1 text-sm [overflow-wrap:anywhere]">
        <p className="font-medium">{t(`invited.${role}`, { organization: organization.name })}</p>
        <p className="text-muted">{t('invited_address', { email })}</p>
      </div>
      <WayIn token={token} invitation={data} />
    </div>
  )
}

function WayIn({ token, invitation }: { token: string; invitation: InvitationPreview }) {
  const t = useText('login')
  const queries = useQueryClient()
  const [session, setSession] = useState(queries.getQueryData<Session | null>(SESSION_KEY) ?? null)
  const { email, has_account } = invitation
  if (session?.user.email === email)
    return <Accept token={token}>{t('continue_as', { email: session.user.email })}</Accept>
  if (session) return <OtherPerson session={session} email={email} onSignedOut={() => setSession(null)} />
  if (!has_account) return <NewAccountForm token={token} />
  return (
    <>
      <p className="text-sm text-muted">{t('has_account')}</p>
      <ButtonLink to="/sign-in" search={{ return: '/invitations/accept' }} variant="primary" size="lg">
        {t('sign_in_to_join')}
      </ButtonLink>
    </>
  )
}

function Accept({ token, children }: { token: string; children: ReactNode }) {
  const t = useText('login')
  const accept = useAccept(token)
  return (
    <>
      <p className="text-sm text-muted [overflow-wrap:anywhere]">{children}</p>
      <FormError error={accept.error} />
      <Button variant="primary" size="lg" busy={accept.isPending} onClick={() => accept.mutate({})}>
        {t('accept')}
      </Button>
    </>
  )
}

type OtherProps = { session: Session; email: string; onSignedOut: () => void }

function OtherPerson({ session, email, onSignedOut }: OtherProps) {
  const t = useText('login')
  const queries = useQueryClient()
  const signOut = useSignOut()
  const leave = async () => {
    await signOut.mutateAsync()
    endSession(queries)
    onSignedOut()
  }
  return (
    <>
      <Note tone="warning">{t('other_person', { own: session.user.email, email })}</Note>
      <FormError error={signOut.error} />
      <Button size="lg" busy={signOut.isPending} onClick={() => void leave().catch(() => {})}>
        {t('sign_out')}
      </Button>
    </>
  )
}
