import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Static } from 'typebox'
import type { CreatedApiKey } from '../../server/identity/schema.ts'
import { useSite } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { useSession } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { CodeBlock, CopyButton } from '../ui/code.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { FormError, fieldError, Note } from '../ui/failure-note.tsx'
import { Field } from '../ui/field.tsx'
import { Input } from '../ui/input.tsx'

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
  const kit = useText('kit')
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
  const actions = (
    <>
      <Button onClick={onClose}>{kit('cancel')}</Button>
      <Button type="submit" variant="primary" busy={create.isPending} disabled={name.trim() === ''}>
        {t('create_submit')}
      </Button>
    </>
  )
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('create_title')}
      description={t('create_text', { organization: organization.name })}
      actions={actions}
      onSubmit={() => name.trim() !== '' && !create.isPending && create.mutate()}
    >
      <div className="flex flex-col gap-4">
        <Field label={t('name')} hint={t('name_hint')} error={fieldError(create.error, 'name')}>
          <Input autoFocus maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <FormError error={create.error} fields={['name']} />
      </div>
    </Dialog>
  )
}

function NewKey({ created, onClose }: { created: Created; onClose: () => void }) {
  const t = useText('keys')
  const { data: site } = useSite()
  const [taken, setTaken] = useState(false)
  const [asking, setAsking] = useState(false)
  const leave = () => (taken ? onClose() : setAsking(true))
  const curl = `curl ${site?.public_url ?? location.origin}/v1/models \\\n  -H "Authorization: Bearer ${created.key}"`
  return (
    <>
      <Dialog
        open
        onOpenChange={(open) => !open && leave()}
        title={t('made_title', { name: created.name })}
        actions={
          <Button variant="primary" onClick={leave}>
            {t('done')}
          </Button>
        }
      >
        {/* Copying by hand counts as well. */}
        <div className="flex flex-col gap-4" onCopy={() => setTaken(true)} onClickCapture={noteCopy(setTaken)}>
          <Note tone="warning">{t('cannot_show_again')}</Note>
          <CodeBlock label={t('key_label')} code={created.key} wrap />
          <div>
            <CopyButton text={created.key} label={t('copy_key')} size="md" />
          </div>
          <div>
            <h3 className="mb-1.5 text-[0.8125rem] font-medium">{t('try_it')}</h3>
            <CodeBlock label={t('try_it')} code={curl} wrap />
          </div>
        </div>
      </Dialog>
      <ConfirmDialog
        open={asking}
        onOpenChange={setAsking}
        title={t('close_unsaved_title')}
        confirmLabel={t('close_unsaved_confirm')}
        onConfirm={async () => onClose()}
      >
        <p>{t('close_unsaved_text')}</p>
      </ConfirmDialog>
    </>
  )
}

/** Every button in the dialog's body copies. */
function noteCopy(setTaken: (taken: boolean) => void) {
  return (event: { target: EventTarget }) => {
    if ((event.target as Element).closest('button')) setTaken(true)
  }
}
