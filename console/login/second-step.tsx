import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { failureOf } from '../api/failure.ts'
import { request } from '../api/request.ts'
import type { Session } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { FormError, Note } from '../ui/failure-note.tsx'
import { Field } from '../ui/form/field.tsx'
import { Input } from '../ui/form/input.tsx'
import { usePageTitle } from '../ui/layout.tsx'
import { LoginTitle } from './login-frame.tsx'

type Props = { onSession: (session: Session) => void; onStartOver: () => void }

/** Asks for the code of an authenticator app, or a recovery code. */
export function SecondStep({ onSession, onStartOver }: Props) {
  const t = useText('login')
  usePageTitle(t('code_title'))
  const [code, setCode] = useState('')
  const [recovery, setRecovery] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const verify = useMutation({
    mutationFn: () =>
      request<Session>('POST', '/console/auth/sign-in/two-factor', {
        body: { [recovery ? 'recovery_code' : 'code']: code.replace(/\s/g, '') },
      }),
    onSuccess: onSession,
    // Selected, so that the next code replaces it.
    onError: () => input.current?.select(),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!verify.isPending) verify.mutate()
  }
  const change = (next: boolean) => {
    setRecovery(next)
    setCode('')
    verify.reset()
  }
  const failed = verify.error === null ? null : failureOf(verify.error)
  const wrong = failed !== null && (failed.status === 400 || failed.code === 'invalid_api_key')
  const over = failed?.code === 'missing_api_key'
  const unreadable = failed?.code === 'conflict'
  return (
    <>
      <LoginTitle>{t('code_title')}</LoginTitle>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label={t(recovery ? 'recovery_code' : 'code')} hint={t(recovery ? 'recovery_hint' : 'code_hint')}>
          <Input
            key={String(recovery)}
            ref={input}
            name="code"
            inputMode={recovery ? 'text' : 'numeric'}
            autoComplete="one-time-code"
            spellCheck={false}
            autoCapitalize="none"
            required
            autoFocus
            value={code}
            onChange={(event) => setCode(event.target.value)}
            className="font-mono tracking-widest"
          />
        </Field>
        {wrong || over || unreadable ? (
          <Note tone="danger">{t(wrong ? 'wrong_code' : over ? 'expired' : 'unreadable')}</Note>
        ) : (
          <FormError error={verify.error} />
        )}
        <Button type="submit" variant="primary" size="lg" busy={verify.isPending}>
          {t('verify')}
        </Button>
        <div className="flex flex-wrap justify-between gap-2">
          <Button variant="ghost" size="sm" onClick={() => change(!recovery)}>
            {t(recovery ? 'use_app' : 'use_recovery')}
          </Button>
          <Button variant="ghost" size="sm" onClick={onStartOver}>
            {t('start_over')}
          </Button>
        </div>
      </form>
    </>
  )
}
