import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { RENEWS_SESSION } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useText } from '../../text/use-text.ts'
import { CopyButton } from '../../ui/data/code.tsx'
import { FormError } from '../../ui/failure-note.tsx'
import { Field } from '../../ui/form/field.tsx'
import { PasswordInput } from '../../ui/form/input.tsx'
import { FormDialog } from '../../ui/overlay/form-dialog.tsx'
import { type Enrolment, type NewRecoveryCodes, PROOF_FIELDS, reloadAccount, useProofError } from '../account.ts'
import { CodeInput } from './code-input.tsx'
import { QrCode } from './qr-code.tsx'

type Props = { onClose: () => void; onCodes: (codes: string[]) => void }

/** Turns the second factor on: the password, then an app that proves that it has the secret. */
export function EnrolDialog({ onClose, onCodes }: Props) {
  const [enrolment, setEnrolment] = useState<Enrolment | null>(null)
  return enrolment ? (
    <SetUpApp enrolment={enrolment} onClose={onClose} onCodes={onCodes} />
  ) : (
    <AskPassword onClose={onClose} onEnrolment={setEnrolment} />
  )
}

function AskPassword({ onClose, onEnrolment }: { onClose: () => void; onEnrolment: (made: Enrolment) => void }) {
  const t = useText('settings')
  const [password, setPassword] = useState('')
  const enrol = useMutation({
    mutationFn: () => request<Enrolment>('POST', '/console/two_factor', { body: { password } }),
    onSuccess: onEnrolment,
  })
  const proofError = useProofError(enrol.error)
  return (
    <FormDialog
      size="sm"
      title={t('turn_on_title')}
      description={t('turn_on_text')}
      submitLabel={t('continue')}
      ready={password !== ''}
      busy={enrol.isPending}
      onSubmit={enrol.mutate}
      onClose={onClose}
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
        <FormError error={enrol.error} fields={PROOF_FIELDS} />
      </div>
    </FormDialog>
  )
}

function SetUpApp({ enrolment: { secret, uri }, onClose, onCodes }: Props & { enrolment: Enrolment }) {
  const t = useText('settings')
  const queries = useQueryClient()
  const [code, setCode] = useState('')
  const confirm = useMutation({
    mutationKey: RENEWS_SESSION,
    mutationFn: () => request<NewRecoveryCodes>('POST', '/console/two_factor/confirm', { body: { code } }),
    onSuccess: ({ recovery_codes }) => {
      onCodes(recovery_codes)
      void reloadAccount(queries)
    },
  })
  const proofError = useProofError(confirm.error)
  return (
    <FormDialog
      title={t('set_up_title')}
      description={t('scan')}
      submitLabel={t('confirm')}
      ready={code.length === 6}
      busy={confirm.isPending}
      onSubmit={confirm.mutate}
      onClose={onClose}
    >
      <div className="flex flex-col gap-5 sm:flex-row">
        <div className="flex justify-center">
          <QrCode text={uri} label={t('qr_code')} />
        </div>
        <div className="flex min-w-0 grow flex-col gap-5">
          <div>
            <h3 className="text-[0.8125rem] font-medium">{t('secret')}</h3>
            <p className="mt-1 flex items-start gap-1">
              <code data-secret className="font-mono text-sm break-words text-muted">
                {secret.replace(/(.{4})(?=.)/g, '$1 ')}
              </code>
              <CopyButton text={secret} />
            </p>
          </div>
          <Field label={t('code')} hint={t('code_hint')} error={proofError('code')}>
            <CodeInput autoFocus value={code} onChange={setCode} refused={proofError('code') && confirm.error} />
          </Field>
          <FormError error={confirm.error} fields={PROOF_FIELDS} />
        </div>
      </div>
    </FormDialog>
  )
}
