import type { EndpointWithSecret } from '../../server/webhooks/schema.ts'
import { useText } from '../text/use-text.ts'
import { CodeBlock, CopyButton } from '../ui/data/code.tsx'
import { SecretDialog } from '../ui/overlay/secret-dialog.tsx'

/** The signing secret of an endpoint, shown once. */
export function NewSecret({ endpoint, onClose }: { endpoint: EndpointWithSecret; onClose: () => void }) {
  const t = useText('webhooks')
  const { name, signing_secret } = endpoint
  const leaving = {
    title: t('close_unsaved_title'),
    text: t('close_unsaved_text'),
    confirmLabel: t('close_unsaved_confirm'),
  }
  return (
    <SecretDialog
      title={t('secret_title', { name })}
      warning={t('cannot_show_again')}
      doneLabel={t('done')}
      leaving={leaving}
      onClose={onClose}
    >
      <CodeBlock label={t('secret_label')} code={signing_secret} wrap />
      <div>
        <CopyButton autoFocus text={signing_secret} label={t('copy_secret')} size="md" />
      </div>
      <p className="text-sm text-muted">{t('secret_use')}</p>
    </SecretDialog>
  )
}
