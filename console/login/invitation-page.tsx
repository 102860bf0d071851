import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { failureOf } from '../api/failure.ts'
import { useSite } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { beginSession, SESSION_KEY, type Session } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { FormError, Note } from '../ui/failure-note.tsx'
import { useFieldError } from '../ui/failure-text.ts'
import { Field } from '../ui/field.tsx'
import { Input, PasswordInput } from '../ui/input.tsx'
import { usePageTitle } from '../ui/layout.tsx'
import { keepInvitation, readInvitation } from './invitation-token.ts'
import { LoginFrame, LoginTitle } from './login-frame.tsx'

/** Where an invitation leads. */
export function InvitationPage() {
  const t = useText('login')
  usePageTitle(t('accept_title'))
  const [token] = useState(readInvitation)
  return (
    <LoginFrame>
      <LoginTitle>{t('accept_title')}</LoginTitle>
      {token ? <AcceptForm token={token} /> : <Note tone="warning">{t('broken_invitation')}</Note>}
    </LoginFrame>
  )
}

function AcceptForm({ token }: { token: string }) {
  const t = useText('login')
  const queries = useQueryClient()
  const navigate = useNavigate()
  const session = queries.getQueryData<Session | null>(SESSION_KEY) ?? null
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const accept = useMutation({
    mutationFn: () => {
      const own = session ? {} : { ...(name && { name }), ...(password && { password }) }
      return request<Session>('POST', '/console/invitations/accept', { body: { token, ...own } })
    },
    onSuccess: async (begun) => {
      keepInvitation(null)
      beginSession(queries, begun)
      await navigate({ to: '/videos', replace: true })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!accept.isPending) accept.mutate()
  }
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      <p className="text-sm text-muted">
        {session ? t('continue_as', { email: session.user.email }) : t('accept_description')}
      </p>
      <FormError error={accept.error} fields={session ? [] : ['name', 'password']} />
      {session === null && <NewPersonFields {...{ name, setName, password, setPassword }} error={accept.error} />}
      <Button type="submit" variant="primary" size="lg" busy={accept.isPending}>
        {t('accept')}
      </Button>
      {session === null && (
        <ButtonLink to="/sign-in" search={{ return: '/invitations/accept' }} variant="ghost" size="sm">
          {t('sign_in_first')}
        </ButtonLink>
      )}
    </form>
  )
}

type FieldsProps = {
  name: string
  setName: (name: string) => void
  password: string
  setPassword: (password: string) => void
  error: unknown
}

function NewPersonFields({ name, setName, password, setPassword, error }: FieldsProps) {
  const t = useText('login')
  const { data: site } = useSite()
  const errorOf = useFieldError(error)
  const wrong = error !== null && failureOf(error).code === 'invalid_api_key'
  return (
    <>
      <Field label={t('name')} error={errorOf('name')}>
        <Input autoComplete="name" maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field
        label={t('password')}
        error={wrong ? t('wrong_password') : errorOf('password')}
        hint={t('new_password_hint', { min: site?.password.min_length ?? 8 })}
      >
        <PasswordInput
          autoComplete="new-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </Field>
    </>
  )
}
