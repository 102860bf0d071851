import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { failureOf } from '../api/failure.ts'
import { useSite } from '../api/queries.ts'
import { request } from '../api/request.ts'
import type { Session } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { FormError, Note } from '../ui/failure-note.tsx'
import { Field } from '../ui/form/field.tsx'
import { Input, PasswordInput } from '../ui/form/input.tsx'
import { usePageTitle } from '../ui/layout.tsx'
import { ForgotPassword } from './forgot-password.tsx'
import { LoginTitle } from './login-frame.tsx'
import { keepReturn } from './return-path.ts'

type Answer = Session | { object: 'two_factor_required' }
type Props = {
  target: string
  problem?: string
  /** A session has ended. */
  ended?: boolean
  onSession: (session: Session) => void
  onSecondStep: () => void
}

export function PasswordStep({ target, problem, ended, onSession, onSecondStep }: Props) {
  const t = useText('login')
  usePageTitle(t('sign_in'))
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const signIn = useMutation({
    mutationFn: () =>
      request<Answer>('POST', '/console/auth/sign-in/email', { body: { email: email.trim(), password } }),
    onSuccess: (answer) => (answer.object === 'console_session' ? onSession(answer) : onSecondStep()),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!signIn.isPending) signIn.mutate()
  }
  const wrong = signIn.error !== null && failureOf(signIn.error).status === 401
  return (
    <>
      <LoginTitle>{t('title')}</LoginTitle>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {ended && !problem && signIn.isIdle && (
          <div role="status">
            <Note>{t('ended')}</Note>
          </div>
        )}
        {problem && signIn.isIdle && <ProviderProblem problem={problem} />}
        <Field label={t('email')}>
          <Input
            type="email"
            name="email"
            autoComplete="username"
            required
            autoFocus
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        </Field>
        <Field label={t('password')}>
          <PasswordInput
            name="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        </Field>
        <ForgotPassword email={email} />
        {wrong ? <Note tone="danger">{t('wrong_credentials')}</Note> : <FormError error={signIn.error} />}
        <Button type="submit" variant="primary" size="lg" busy={signIn.isPending}>
          {t('sign_in')}
        </Button>
      </form>
      <Provider target={target} />
    </>
  )
}

function ProviderProblem({ problem }: { problem: string }) {
  const t = useText('login')
  const known = PROBLEMS.find((each) => each === problem) ?? 'oidc_failed'
  return <Note tone="danger">{t(`problems.${known}`)}</Note>
}

/** Source: docs/api/console.md, signing in with an identity provider. */
const PROBLEMS = [
  'oidc_denied',
  'oidc_expired',
  'oidc_failed',
  'oidc_no_account',
  'oidc_other_account',
  'oidc_unavailable',
] as const

/** The identity provider of the organization that runs the service, where there is one. */
function Provider({ target }: { target: string }) {
  const t = useText('login')
  const { data: site } = useSite()
  if (!site?.oidc) return null
  return (
    <>
      <p className="my-4 flex items-center gap-3 text-xs text-muted before:h-px before:grow before:bg-line after:h-px after:grow after:bg-line">
        {t('or')}
      </p>
      <a href="/console/auth/oidc" onClick={() => keepReturn(target)} className={buttonClass({ size: 'lg' }, 'w-full')}>
        {t('with_provider', { name: site.oidc.name })}
      </a>
    </>
  )
}
