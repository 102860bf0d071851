import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Static } from 'typebox'
import type { CreatedApiKey } from '../../server/identity/schema.ts'
import { failureOf } from '../api/failure.ts'
import { useSite } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { useSession } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { CodeBlock, CopyButton } from '../ui/data/code.tsx'
import { FormError, Note } from '../ui/failure-note.tsx'
import { useFieldError } from '../ui/failure-text.ts'
import { Field } from '../ui/form/field.tsx'
import { Input } from '../ui/form/input.tsx'
import { FormDialog } from '../ui/overlay/form-dialog.tsx'
import { SecretDialog } from '../ui/overlay/secret-dialog.tsx'

type Created = Static<typeof CreatedApiKey>
type Props = { open: boolean; onOpenChange: (open: boolean) => void }

/** Asks for a name, then shows the new key this once. */
export function CreateKeyDialog({ open, onOpenChange }: Props) {
  const [created, setCreated] = useState<Created | null>(null)
  const close = () => {
    onOpenChange(false)
    setCreated(null)
  }
  if (!open) return null
  return created ? <NewKey created={created} onClose={close} /> : <NameKey onCreated={setCreated} onClose={close} />
}

function NameKey({ onCreated, onClose }: { onCreated: (created: Created) => void; onClose: () => void }) {
  const t = useText('keys')
  const queries = useQueryClient()
  const { organization } = useSession()
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: () => request<Created>('POST', '/console/api_keys', { body: { name: name.trim() } }),
    onSuccess: (created) => {
      onCreated(created)
      void queries.invalidateQueries({ queryKey: ['api_keys'] })
    },
  })
  const errorOf = useFieldError(create.error)
  const isFull = create.error !== null && failureOf(create.error).code === 'conflict'
  return (
    <FormDialog
      title={t('create_title')}
      description={t('create_text', { organization: organization.name })}
      submitLabel={t('create_submit')}
      ready={name.trim() !== ''}
      busy={create.isPending}
      onSubmit={create.mutate}
      onClose={onClose}
    >
      <div className="flex flex-col gap-4">
        <Field label={t('name')} hint={t('name_hint')} error={errorOf('name')}>
          <Input autoFocus maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        {isFull ? <Note tone="danger">{t('too_many')}</Note> : <FormError error={create.error} fields={['name']} />}
      </div>
    </FormDialog>
  )
}

function NewKey({ created, onClose }: { created: Created; onClose: () => void }) {
  const t = useText('keys')
  const { data: site } = useSite()
  const curl = `curl ${site?.public_url ?? location.origin}/v1/models \\\n  -H "Authorization: Bearer ${created.key}"`
  const leaving = {
    title: t('close_unsaved_title'),
    text: t('close_unsaved_text'),
    confirmLabel: t('close_unsaved_confirm'),
  }
  return (
    <SecretDialog
      title={t('created_title', { name: created.name })}
      warning={t('cannot_show_again')}
      doneLabel={t('done')}
      leaving={leaving}
      onClose={onClose}
    >
      <CodeBlock label={t('key_label')} code={created.key} wrap />
      <div>
        <CopyButton autoFocus text={created.key} label={t('copy_key')} size="md" />
      </div>
      <div>
        <h3 className="mb-1.5 text-[0.8125rem] font-medium">{t('try_it')}</h3>
        <CodeBlock label={t('try_it')} code={curl} wrap />
      </div>
    </SecretDialog>
  )
}
