import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { InvitationChoice } from '../../server/identity/schema.ts'
import { failureOf } from '../api/failure.ts'
import { request } from '../api/request.ts'
import { beginSession, type Session } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { FailureNote, FormError, Note } from '../ui/failure-note.tsx'
import { Skeleton, usePageTitle } from '../ui/layout.tsx'
import { LoginFrame, LoginTitle } from './login-frame.tsx'

// Under `site`: it does not depend on the session.
const CHOICE = ['site', 'invitation-choice'] as const
const PATH = '/console/auth/oidc/invitations'

/** After the identity provider, for somebody whom several organizations invite and who is in none: which one they join. */
export function ChooseInvitationPage() {
  const t = useText('login')
  usePageTitle(t('choose_title'))
  return (
    <LoginFrame>
      <LoginTitle>{t('choose_title')}</LoginTitle>
      <Choice />
    </LoginFrame>
  )
}

function Choice() {
  const t = useText('login')
  const { data, error, refetch } = useQuery({
    queryKey: CHOICE,
    queryFn: ({ signal }) => request<InvitationChoice>('GET', PATH, { signal }),
    retry: false,
  })
  const join = useJoin()
  const failed = join.error === null ? null : failureOf(join.error)
  if (failed?.status === 401 || (error !== null && failureOf(error).status === 401))
    return <StartAgain text={t('problems.oidc_expired')} />
  if (error) return <FailureNote error={error} onRetry={() => void refetch()} />
  if (!data) return <Skeleton className="h-32 w-full rounded-lg" />
  const { email, invitations } = data
  if (invitations.length === 0) return <StartAgain text={t('invitation_over')} />
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm text-muted [overflow-wrap:anywhere]">{t('choose_text', { email })}</p>
      {failed?.code === 'not_found' ? (
        <Note tone="warning">{t('invitation_over')}</Note>
      ) : (
        <FormError error={join.error} />
      )}
      <ul className="flex flex-col gap-3">
        {invitations.map(({ id, organization: { name: organization }, role, invited_by }) => (
          <li key={id} className="flex flex-col gap-3 rounded-lg border border-line p-4 text-sm">
            <div className="flex flex-col gap-1 [overflow-wrap:anywhere]">
              <p className="font-medium">{t(`invited.${role}`, { organization })}</p>
              <p className="text-muted">{t('invited_by', { email: invited_by })}</p>
            </div>
            <Button
              aria-label={t('join', { organization })}
              busy={join.isPending && join.variables === id}
              disabled={join.isPending && join.variables !== id}
              onClick={() => join.mutate(id)}
            >
              {t('accept')}
            </Button>
          </li>
        ))}
      </ul>
    </div>
  )
}

function StartAgain({ text }: { text: string }) {
  const t = useText('login')
  return (
    <div className="flex flex-col gap-4">
      <Note tone="warning">{text}</Note>
      <ButtonLink to="/sign-in" variant="secondary" size="lg">
        {t('sign_in')}
      </ButtonLink>
    </div>
  )
}

/** Accepts an invitation and opens its organization. */
function useJoin() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: (invitation_id: string) => request<Session>('POST', PATH, { body: { invitation_id } }),
    onSuccess: async (session) => {
      beginSession(queries, session)
      await navigate({ to: '/', replace: true })
    },
    // It may have been withdrawn: the list shows what is left.
    onError: () => queries.invalidateQueries({ queryKey: CHOICE }),
  })
}
