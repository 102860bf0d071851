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
import { type Enrollment, type NewRecoveryCodes, PROOF_FIELDS, reloadAccount, useProofError } from '../account.ts'
import { CodeInput } from './code-input.tsx'
import { qrPath } from './qr-code.ts'

type Props = { onClose: () => void; onCodes: (codes: string[]) => void }

/** Turns on two-factor authentication: asks for the password, then for a code of the authenticator app. */
export function SetUpDialog({ onClose, onCodes }: Props) {
  const [enrollment, setEnrollment] = useState<Enrollment | null>(null)
  return enrollment ? (
    <SetUpApp enrollment={enrollment} onClose={onClose} onCodes={onCodes} />
  ) : (
    <AskPassword onClose={onClose} onEnrollment={setEnrollment} />
  )
}

function AskPassword({
  onClose,
  onEnrollment,
}: {
  onClose: () => void
  onEnrollment: (enrollment: Enrollment) => void
}) {
  const t = useText('settings')
  const [password, setPassword] = useState('')
  const enroll = useMutation({
    mutationFn: () => request<Enrollment>('POST', '/console/two_factor', { body: { password } }),
    onSuccess: onEnrollment,
  })
  const proofError = useProofError(enroll.error)
  return (
    <FormDialog
      size="sm"
      title={t('turn_on_title')}
      description={t('turn_on_text')}
      submitLabel={t('continue')}
      ready={password !== ''}
      busy={enroll.isPending}
      onSubmit={enroll.mutate}
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
        <FormError error={enroll.error} fields={PROOF_FIELDS} />
      </div>
    </FormDialog>
  )
}

function SetUpApp({ enrollment: { secret, uri }, onClose, onCodes }: Props & { enrollment: Enrollment }) {
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

/** A QR code, black on white in both themes, so that every camera reads it; nothing when the text is too long. */
function QrCode({ text, label }: { text: string; label: string }) {
  const drawn = qrPath(text)
  if (drawn === null) return null
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${drawn.size} ${drawn.size}`}
      shapeRendering="crispEdges"
      className="size-52 shrink-0 rounded-lg border border-line"
    >
      <rect width={drawn.size} height={drawn.size} fill="#fff" />
      <path d={drawn.path} fill="#000" />
    </svg>
  )
}
