import { useMutation } from '@tanstack/react-query'
import { Ellipsis, Send } from 'lucide-react'
import { useState } from 'react'
import type { EndpointWithSecret } from '../../server/webhooks/schema.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { useBackTo } from '../ui/back.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/overlay/dialog.tsx'
import { FormDialog } from '../ui/overlay/form-dialog.tsx'
import { Menu } from '../ui/overlay/menu.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { PATH, useRefresh, type WebhookEndpoint } from './endpoint.ts'
import { bodyOf, EndpointForm, isComplete } from './form.tsx'
import { NewSecret } from './new-secret.tsx'
import { SendAgainDialog } from './send-again-dialog.tsx'
import { TestDialog } from './test-dialog.tsx'

type Open = 'test' | 'again' | 'edit' | 'rotate' | 'delete' | null

/** Everything that can be done with an endpoint. */
export function EndpointActions({ endpoint }: { endpoint: WebhookEndpoint }) {
  const t = useText('webhooks')
  const [open, setOpen] = useState<Open>(null)
  const close = () => setOpen(null)
  const toggle = useToggle(endpoint)
  return (
    <>
      <Button icon={<Send />} onClick={() => setOpen('test')}>
        {t('test')}
      </Button>
      <Button busy={toggle.isPending} onClick={() => toggle.mutate()}>
        {endpoint.enabled ? t('disable') : t('enable')}
      </Button>
      <Menu
        trigger={<Button aria-label={t('more')} icon={<Ellipsis />} className="w-9 px-0!" />}
        items={[
          { label: t('edit'), onSelect: () => setOpen('edit') },
          { label: t('send_again'), onSelect: () => setOpen('again'), disabled: !endpoint.enabled },
          { label: t('rotate'), onSelect: () => setOpen('rotate') },
          'line',
          { label: t('delete'), onSelect: () => setOpen('delete'), danger: true },
        ]}
      />
      {open === 'test' && <TestDialog endpoint={endpoint} onClose={close} />}
      {open === 'again' && <SendAgainDialog endpoint={endpoint} onClose={close} />}
      {open === 'edit' && <EditDialog endpoint={endpoint} onClose={close} />}
      {open === 'rotate' && <RotateDialog endpoint={endpoint} onClose={close} />}
      {open === 'delete' && <DeleteDialog endpoint={endpoint} onClose={close} />}
    </>
  )
}

function useToggle({ id, enabled }: WebhookEndpoint) {
  const t = useText('webhooks')
  const refresh = useRefresh()
  return useMutation({
    mutationFn: () => request('POST', `${PATH}/${id}`, { body: { enabled: !enabled } }),
    onSuccess: () => {
      toast(enabled ? t('disabled') : t('enabled'))
      return refresh()
    },
  })
}

type Props = { endpoint: WebhookEndpoint; onClose: () => void }

function EditDialog({ endpoint, onClose }: Props) {
  const t = useText('webhooks')
  const refresh = useRefresh()
  const low_balance = endpoint.low_balance.replace(/\.?0+$/, '')
  const [draft, setDraft] = useState({ ...endpoint, low_balance })
  const edit = useMutation({
    mutationFn: () => request('POST', `${PATH}/${endpoint.id}`, { body: bodyOf(draft) }),
    async onSuccess() {
      await refresh()
      onClose()
    },
  })
  return (
    <FormDialog
      title={t('edit_title')}
      submitLabel={t('save')}
      ready={isComplete(draft)}
      busy={edit.isPending}
      onSubmit={edit.mutate}
      onClose={onClose}
    >
      <EndpointForm draft={draft} onChange={(next) => setDraft({ ...draft, ...next })} error={edit.error} />
    </FormDialog>
  )
}

function RotateDialog({ endpoint, onClose }: Props) {
  const t = useText('webhooks')
  const refresh = useRefresh()
  const [rotated, setRotated] = useState<EndpointWithSecret | null>(null)
  const rotate = async () => {
    const body = { keep_old_secret_active_for_24_hours: true }
    setRotated(await request<EndpointWithSecret>('POST', `${PATH}/${endpoint.id}/rotate_secret`, { body }))
    await refresh()
  }
  if (rotated) return <NewSecret endpoint={rotated} onClose={onClose} />
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && !rotated && onClose()}
      title={t('rotate_title')}
      confirmLabel={t('rotate')}
      onConfirm={rotate}
    >
      <p>{t('rotate_text')}</p>
    </ConfirmDialog>
  )
}

function DeleteDialog({ endpoint, onClose }: Props) {
  const t = useText('webhooks')
  const { goBack } = useBackTo('/webhooks')
  const { id, name } = endpoint
  const remove = async () => {
    await request('DELETE', `${PATH}/${id}`)
    toast(t('deleted', { name }))
    await goBack()
  }
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('delete_title', { name })}
      confirmLabel={t('delete')}
      onConfirm={remove}
    >
      <p>{t('delete_text')}</p>
    </ConfirmDialog>
  )
}
