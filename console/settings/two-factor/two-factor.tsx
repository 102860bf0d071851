import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { RENEWS_SESSION } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { SESSION_KEY, type Session } from '../../api/session.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { StatusBadge } from '../../ui/data/badge.tsx'
import { FailureNote, Note } from '../../ui/failure-note.tsx'
import { toast } from '../../ui/overlay/toast.ts'
import { type NewRecoveryCodes, reloadAccount, type TwoFactorState, useProfile, useTwoFactor } from '../account.ts'
import { LineSkeleton, Section } from '../section.tsx'
import { type Proof, ProofDialog } from './proof-dialog.tsx'
import { RecoveryCodesDialog } from './recovery-codes-dialog.tsx'
import { SetUpDialog } from './set-up-dialog.tsx'

/** With this many recovery codes or fewer, new ones are suggested. */
const FEW_CODES = 3

type Step = 'set_up' | 'renew' | 'disable'
type OpenDialog = { step: Step } | { step: 'codes'; codes: string[] } | null

/** Turns two-factor authentication on and off and renews its recovery codes. */
export function TwoFactorSection() {
  const t = useText('settings')
  const profile = useProfile()
  const { data, error, refetch } = useTwoFactor()
  const [dialog, setDialog] = useState<OpenDialog>(null)
  const [wasDisabled, setWasDisabled] = useState(false)
  const close = () => setDialog(null)
  const showCodes = (codes: string[]) => setDialog({ step: 'codes', codes })
  const onDisabled = () => {
    setWasDisabled(true)
    close()
  }
  return (
    <Section title={t('two_factor')} description={t('two_factor_text')}>
      {error ? (
        <FailureNote error={error} onRetry={() => void refetch()} />
      ) : data && profile.data ? (
        <State
          state={data}
          hasPassword={profile.data.password}
          wasDisabled={wasDisabled}
          onOpen={(step) => setDialog({ step })}
        />
      ) : (
        <LineSkeleton />
      )}
      {dialog?.step === 'set_up' && <SetUpDialog onClose={close} onCodes={showCodes} />}
      {dialog?.step === 'renew' && <RenewDialog onClose={close} onCodes={showCodes} />}
      {dialog?.step === 'disable' && <DisableDialog onClose={close} onDisabled={onDisabled} />}
      {dialog?.step === 'codes' && <RecoveryCodesDialog codes={dialog.codes} onClose={close} />}
    </Section>
  )
}

type StateProps = {
  state: TwoFactorState
  hasPassword: boolean
  /** Turned off on this page: the button that turns it on takes the focus of the one that is gone. */
  wasDisabled: boolean
  onOpen: (step: Step) => void
}

function State({ state: { enabled, recovery_codes_left }, hasPassword, wasDisabled, onOpen }: StateProps) {
  const t = useText('settings')
  if (!hasPassword) return <p className="text-sm text-muted">{t('two_factor_no_password')}</p>
  if (!enabled) {
    return (
      <div className="flex min-h-9 flex-wrap items-center justify-between gap-3">
        <StatusBadge tone="neutral">{t('off')}</StatusBadge>
        <Button autoFocus={wasDisabled} onClick={() => onOpen('set_up')}>
          {t('turn_on')}
        </Button>
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
          <Button onClick={() => onOpen('renew')}>{t('renew_codes')}</Button>
          <Button variant="ghost" className="text-danger!" onClick={() => onOpen('disable')}>
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

function DisableDialog({ onClose, onDisabled }: { onClose: () => void; onDisabled: () => void }) {
  const t = useText('settings')
  const queries = useQueryClient()
  const disable = useMutation({
    mutationKey: RENEWS_SESSION,
    mutationFn: (proof: Proof) => request<Session>('POST', '/console/two_factor/disable', { body: proof }),
    onSuccess: (session) => {
      onDisabled()
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
