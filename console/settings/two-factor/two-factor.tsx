import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { RENEWS_SESSION } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { SESSION_KEY, type Session } from '../../api/session.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { StatusBadge } from '../../ui/data/badge.tsx'
import { FailureNote, Note } from '../../ui/failure-note.tsx'
import { toast } from '../../ui/overlay/toast.tsx'
import { type NewRecoveryCodes, reloadAccount, type TwoFactorState, useProfile, useTwoFactor } from '../account.ts'
import { LineSkeleton, Section } from '../section.tsx'
import { type Proof, ProofDialog } from './proof-dialog.tsx'
import { RecoveryCodesDialog } from './recovery-codes-dialog.tsx'
import { SetUpDialog } from './set-up-dialog.tsx'

/** From this many recovery codes on, it is time for new ones. */
const FEW_CODES = 3

type Doing = { step: 'enrol' | 'renew' | 'disable' } | { step: 'codes'; codes: string[] } | null

/** A code of an app beside the password: on, off, and the codes for when the app is lost. */
export function TwoFactorSection() {
  const t = useText('settings')
  const profile = useProfile()
  const { data, error, refetch } = useTwoFactor()
  const [doing, setDoing] = useState<Doing>(null)
  const close = () => setDoing(null)
  const showCodes = (codes: string[]) => setDoing({ step: 'codes', codes })
  return (
    <Section title={t('two_factor')} description={t('two_factor_text')}>
      {error ? (
        <FailureNote error={error} onRetry={() => void refetch()} />
      ) : data && profile.data ? (
        <State state={data} hasPassword={profile.data.password} onDo={(step) => setDoing({ step })} />
      ) : (
        <LineSkeleton />
      )}
      {doing?.step === 'enrol' && <SetUpDialog onClose={close} onCodes={showCodes} />}
      {doing?.step === 'renew' && <RenewDialog onClose={close} onCodes={showCodes} />}
      {doing?.step === 'disable' && <DisableDialog onClose={close} />}
      {doing?.step === 'codes' && <RecoveryCodesDialog codes={doing.codes} onClose={close} />}
    </Section>
  )
}

type StateProps = {
  state: TwoFactorState
  hasPassword: boolean
  onDo: (step: 'enrol' | 'renew' | 'disable') => void
}

function State({ state: { enabled, recovery_codes_left }, hasPassword, onDo }: StateProps) {
  const t = useText('settings')
  if (!hasPassword) return <p className="text-sm text-muted">{t('two_factor_no_password')}</p>
  if (!enabled) {
    return (
      <div className="flex min-h-9 flex-wrap items-center justify-between gap-3">
        <StatusBadge tone="neutral">{t('off')}</StatusBadge>
        <Button onClick={() => onDo('enrol')}>{t('turn_on')}</Button>
      </div>
    )
  }
  const left = recovery_codes_left ?? 0
  return (
    <div className="flex flex-col gap-4">
      <div className="flex min-h-9 flex-wrap items-center justify-between gap-3">
        <span className="flex flex-wrap items-center gap-3">
          <StatusBadge tone="success">{t('on')}</StatusBadge>
          <span className="text-sm text-muted">{t('codes_left', { count: left })}</span>
        </span>
        <span className="flex flex-wrap gap-2">
          <Button onClick={() => onDo('renew')}>{t('renew_codes')}</Button>
          <Button variant="ghost" className="text-danger!" onClick={() => onDo('disable')}>
            {t('turn_off')}
          </Button>
        </span>
      </div>
      {left <= FEW_CODES && <Note tone="warning">{t('few_codes')}</Note>}
    </div>
  )
}

function RenewDialog({ onClose, onCodes }: { onClose: () => void; onCodes: (codes: string[]) => void }) {
  const t = useText('settings')
  const queries = useQueryClient()
  const renew = useMutation({
    mutationFn: (proof: Proof) =>
      request<NewRecoveryCodes>('POST', '/console/two_factor/recovery_codes', { body: proof }),
    onSuccess: ({ recovery_codes }) => {
      onCodes(recovery_codes)
      void reloadAccount(queries)
    },
  })
  return (
    <ProofDialog
      title={t('renew_codes')}
      description={t('renew_codes_text')}
      submitLabel={t('renew_codes')}
      proving={renew}
      onClose={onClose}
    />
  )
}

function DisableDialog({ onClose }: { onClose: () => void }) {
  const t = useText('settings')
  const queries = useQueryClient()
  const disable = useMutation({
    mutationKey: RENEWS_SESSION,
    mutationFn: (proof: Proof) => request<Session>('POST', '/console/two_factor/disable', { body: proof }),
    onSuccess: (session) => {
      onClose()
      toast(t('turned_off'))
      queries.setQueryData(SESSION_KEY, session)
      void reloadAccount(queries)
    },
  })
  return (
    <ProofDialog
      danger
      title={t('turn_off_title')}
      description={t('turn_off_text')}
      submitLabel={t('turn_off')}
      proving={disable}
      onClose={onClose}
    />
  )
}
