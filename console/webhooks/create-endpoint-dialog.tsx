import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { EndpointWithSecret } from '../../server/webhooks/schema.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { FormDialog } from '../ui/overlay/form-dialog.tsx'
import { PATH, useRefresh } from './endpoint.ts'
import { bodyOf, EndpointForm, isComplete, NEW_ENDPOINT } from './form.tsx'
import { NewSecret } from './new-secret.tsx'

/** Asks where events go, then shows the signing secret this once. */
export function CreateEndpointDialog({ onClose }: { onClose: () => void }) {
  const t = useText('webhooks')
  const refresh = useRefresh()
  const [draft, setDraft] = useState(NEW_ENDPOINT)
  const create = useMutation({
    mutationFn: () => request<EndpointWithSecret>('POST', PATH, { body: bodyOf(draft) }),
    onSuccess: () => void refresh(),
  })
  if (create.data) return <NewSecret endpoint={create.data} onClose={onClose} />
  return (
    <FormDialog
      title={t('create_title')}
      submitLabel={t('create_submit')}
      ready={isComplete(draft)}
      busy={create.isPending}
      onSubmit={create.mutate}
      onClose={onClose}
    >
      <EndpointForm draft={draft} onChange={setDraft} error={create.error} />
    </FormDialog>
  )
}
