import type { UseMutationResult } from '@tanstack/react-query'
import { useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { FormError } from '../../ui/failure-note.tsx'
import { Field } from '../../ui/form/field.tsx'
import { PasswordInput } from '../../ui/form/input.tsx'
import { FormDialog } from '../../ui/overlay/form-dialog.tsx'
import { PROOF_FIELDS, useProofError } from '../account.ts'
import { CodeInput } from './code-input.tsx'

/** What proves who the person is before two-factor authentication changes. */
export type Proof = { password: string; code?: string; recovery_code?: string }

type Props = {
  title: string
  description: string
  submitLabel: string
  danger?: boolean
  proving: UseMutationResult<unknown, Error, Proof>
  onClose: () => void
}

/** Asks for the password and a code: from the app, or a recovery code. */
export function ProofDialog({ title, description, submitLabel, danger, proving, onClose }: Props) {
  const t = useText('settings')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [recovery, setRecovery] = useState(false)
  const proofError = useProofError(proving.error)
  const ready = password !== '' && (recovery ? code.trim() !== '' : /^\d{6}$/.test(code))
  const submit = () => proving.mutate({ password, ...(recovery ? { recovery_code: code.trim() } : { code }) })
  return (
    <FormDialog
      size="sm"
      {...{ title, description, submitLabel, danger, ready, onClose }}
      busy={proving.isPending}
      onSubmit={submit}
    >
      <div className="flex flex-col gap-4">
        <Field label={t('your_password')} error={proofError('password')}>
          <PasswordInput
            autoFocus
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        </Field>
        <Field
          label={t(recovery ? 'recovery_code' : 'code')}
          hint={recovery ? t('recovery_hint') : undefined}
          error={proofError('code')}
        >
          <CodeInput
            key={String(recovery)}
            recovery={recovery}
            value={code}
            onChange={setCode}
            refused={proofError('code') && proving.error}
          />
        </Field>
        <FormError error={proving.error} fields={PROOF_FIELDS} />
        <div>
          <Button
            variant="ghost"
            size="sm"
            className="-ms-2.5"
            onClick={() => {
              setRecovery(!recovery)
              setCode('')
              proving.reset()
            }}
          >
            {t(recovery ? 'use_app' : 'use_recovery')}
          </Button>
        </div>
      </div>
    </FormDialog>
  )
}
