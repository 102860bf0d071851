import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { request } from '../api/request.ts'
import { SESSION_KEY, type Session } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { FailureNote, FormError } from '../ui/failure-note.tsx'
import { useFieldError } from '../ui/failure-text.ts'
import { Field } from '../ui/form/field.tsx'
import { Input } from '../ui/form/input.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { PROFILE_KEY, type Profile, useProfile } from './account.ts'
import { FormSkeleton, Section } from './section.tsx'

/** Who the person is: the name can be changed, the address is how they sign in. */
export function ProfileSection() {
  const t = useText('settings')
  const { data, error, refetch } = useProfile()
  return (
    <Section title={t('profile')} description={t('profile_text')}>
      {data ? (
        <ProfileForm profile={data} />
      ) : error ? (
        <FailureNote error={error} onRetry={() => void refetch()} />
      ) : (
        <FormSkeleton className="h-[13.53125rem]" />
      )}
    </Section>
  )
}

function ProfileForm({ profile }: { profile: Profile }) {
  const t = useText('settings')
  const queries = useQueryClient()
  const [name, setName] = useState(profile.name)
  const typed = name.trim()
  const changed = typed !== '' && typed !== profile.name
  const save = useMutation({
    mutationFn: () => request<Profile>('PATCH', '/console/profile', { body: { name: typed } }),
    onSuccess: (saved) => {
      queries.setQueryData(PROFILE_KEY, saved)
      queries.setQueryData<Session | null>(
        SESSION_KEY,
        (session) => session && { ...session, user: { ...session.user, name: saved.name } },
      )
      void queries.invalidateQueries({ queryKey: ['members'] })
      setName(saved.name)
      toast(t('name_saved'))
    },
  })
  const errorOf = useFieldError(save.error)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (changed && !save.isPending) save.mutate()
  }
  return (
    <form noValidate onSubmit={submit} className="flex flex-col gap-4">
      <Field label={t('name')} error={errorOf('name')} className="max-w-md">
        <Input autoComplete="name" maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label={t('email')} hint={t('email_hint')} className="max-w-md">
        <Input type="email" readOnly value={profile.email} className="text-muted" />
      </Field>
      <FormError error={save.error} fields={['name']} />
      <div>
        <Button type="submit" busy={save.isPending} disabled={!changed}>
          {t('save')}
        </Button>
      </div>
    </form>
  )
}
