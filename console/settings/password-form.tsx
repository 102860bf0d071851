import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { RENEWS_SESSION, useSite } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { SESSION_KEY, type Session, useSession } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { FailureNote, FormError } from '../ui/failure-note.tsx'
import { useFieldError } from '../ui/failure-text.ts'
import { Field } from '../ui/form/field.tsx'
import { PasswordInput } from '../ui/form/input.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { PROOF_FIELDS, reloadAccount, useProfile, useProofError } from './account.ts'
import { FormSkeleton, Section } from './section.tsx'

/** A new password, for those who sign in with one. */
export function PasswordSection() {
  const t = useText('settings')
  const site = useSite()
  const { data, error, refetch } = useProfile()
  const provider = site.data?.oidc?.name ?? t('provider')
  return (
    <Section title={t('password')} description={t('password_text')}>
      {data?.password ? (
        <PasswordForm />
      ) : data ? (
        <p className="text-sm text-muted">{t('no_password', { provider })}</p>
      ) : error ? (
        <FailureNote error={error} onRetry={() => void refetch()} />
      ) : (
        <FormSkeleton className="h-[13.5625rem]" />
      )}
    </Section>
  )
}

function PasswordForm() {
  const t = useText('settings')
  const queries = useQueryClient()
  const { user } = useSession()
  const { data: site } = useSite()
  const min = site?.password.min_length ?? 8
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [tooShort, setTooShort] = useState(false)
  const change = useMutation({
    mutationKey: RENEWS_SESSION,
    mutationFn: () =>
      request<Session>('POST', '/console/password', { body: { current_password: current, new_password: next } }),
    onSuccess: async (session) => {
      setCurrent('')
      setNext('')
      toast(t('password_changed'))
      queries.setQueryData(SESSION_KEY, session)
      await reloadAccount(queries)
    },
  })
  const proofError = useProofError(change.error)
  const errorOf = useFieldError(change.error)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const short = next.length < min
    setTooShort(short)
    if (!short && !change.isPending) change.mutate()
  }
  return (
    <form noValidate onSubmit={submit} className="flex flex-col gap-4">
      {/* Lets password managers match the password to the account. */}
      <input type="text" name="username" autoComplete="username" value={user.email} readOnly hidden />
      <Field label={t('current_password')} error={proofError('current_password')} className="max-w-md">
        <PasswordInput
          autoComplete="current-password"
          maxLength={1024}
          value={current}
          onChange={(event) => setCurrent(event.target.value)}
        />
      </Field>
      <Field
        label={t('new_password')}
        hint={t('new_password_hint', { min })}
        error={tooShort ? t('too_short', { min }) : errorOf('new_password')}
        className="max-w-md"
      >
        <PasswordInput
          autoComplete="new-password"
          maxLength={site?.password.max_length ?? 128}
          value={next}
          onChange={(event) => {
            setTooShort(false)
            setNext(event.target.value)
          }}
        />
      </Field>
      <FormError error={change.error} fields={PROOF_FIELDS} />
      <div>
        <Button type="submit" busy={change.isPending} disabled={current === '' || next === ''}>
          {t('change_password')}
        </Button>
      </div>
    </form>
  )
}
