import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Static } from 'typebox'
import type { CreatedInvitation } from '../../server/identity/schema.ts'
import { request } from '../api/request.ts'
import { type Role, useSession } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { CodeBlock, CopyButton } from '../ui/data/code.tsx'
import { FormError, Note } from '../ui/failure-note.tsx'
import { useFieldError } from '../ui/failure-text.ts'
import { Field } from '../ui/form/field.tsx'
import { Input, Select } from '../ui/form/input.tsx'
import { Dialog } from '../ui/overlay/dialog.tsx'
import { FormDialog } from '../ui/overlay/form-dialog.tsx'
import { useRoleHints, useRoleOptions } from './roles.ts'

type Created = Static<typeof CreatedInvitation>

/** Asks whom to invite, then shows the link to hand over. */
export function InviteDialog({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const [created, setCreated] = useState<Created | null>(null)
  const close = () => {
    onOpenChange(false)
    setCreated(null)
  }
  if (!open) return null
  return created ? <Link created={created} onClose={close} /> : <Form onCreated={setCreated} onClose={close} />
}

function Form({ onCreated, onClose }: { onCreated: (created: Created) => void; onClose: () => void }) {
  const t = useText('members')
  const queries = useQueryClient()
  const { organization } = useSession()
  const options = useRoleOptions(organization.role)
  const hintOf = useRoleHints()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const create = useMutation({
    mutationFn: () => request<Created>('POST', '/console/invitations', { body: { email: email.trim(), role } }),
    onSuccess: (created) => {
      onCreated(created)
      void queries.invalidateQueries({ queryKey: ['invitations'] })
    },
  })
  const errorOf = useFieldError(create.error)
  return (
    <FormDialog
      title={t('invite_title')}
      submitLabel={t('invite_submit')}
      ready={email.trim() !== ''}
      busy={create.isPending}
      onSubmit={create.mutate}
      onClose={onClose}
    >
      <div className="flex flex-col gap-4">
        <Field label={t('email')} hint={t('email_hint')} error={errorOf('email')}>
          <Input type="email" autoFocus value={email} onChange={(event) => setEmail(event.target.value)} />
        </Field>
        <Field label={t('role')} hint={hintOf(role)}>
          <Select value={role} options={options} onChange={setRole} />
        </Field>
        <FormError error={create.error} fields={['email']} />
      </div>
    </FormDialog>
  )
}

function Link({ created, onClose }: { created: Created; onClose: () => void }) {
  const t = useText('members')
  const done = (
    <Button variant="primary" onClick={onClose}>
      {t('done')}
    </Button>
  )
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()} title={t('invited_title')} actions={done}>
      <div className="flex flex-col gap-4">
        <Note tone="warning">{t('send_link', { email: created.email })}</Note>
        <CodeBlock label={t('accept_link')} code={created.accept_url} wrap />
        <div>
          <CopyButton autoFocus text={created.accept_url} label={t('copy_link')} size="md" />
        </div>
      </div>
    </Dialog>
  )
}
