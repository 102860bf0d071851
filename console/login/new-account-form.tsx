import { type FormEvent, useState } from 'react'
import { useSite } from '../api/queries.ts'
import { useText } from '../text/use-text.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { FormError } from '../ui/failure-note.tsx'
import { useFieldError } from '../ui/failure-text.ts'
import { Field } from '../ui/form/field.tsx'
import { Input, PasswordInput } from '../ui/form/input.tsx'
import { useAccept } from './accept-invitation.ts'

/** Name and password for a person without an account, or the identity provider, which needs neither. */
export function NewAccountForm({ token }: { token: string }) {
  const t = useText('login')
  const { data: site } = useSite()
  const accept = useAccept(token)
  const errorOf = useFieldError(accept.error)
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!accept.isPending) accept.mutate({ ...(name && { name }), ...(password && { password }) })
  }
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      <Field label={t('name')} error={errorOf('name')}>
        <Input
          autoFocus
          autoComplete="name"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Field
        label={t('password')}
        error={errorOf('password')}
        hint={t('new_password_hint', { min: site?.password.min_length ?? 8 })}
      >
        <PasswordInput
          autoComplete="new-password"
          maxLength={site?.password.max_length ?? 128}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </Field>
      <FormError error={accept.error} fields={['name', 'password']} />
      <Button type="submit" variant="primary" size="lg" busy={accept.isPending}>
        {t('accept')}
      </Button>
      {site?.oidc && (
        <a href="/console/auth/oidc" className={buttonClass({ size: 'lg' }, 'w-full')}>
          {t('with_provider', { name: site.oidc.name })}
        </a>
      )}
    </form>
  )
}
