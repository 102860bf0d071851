import { Download } from 'lucide-react'
import { useSession } from '../../api/session.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/data/code.tsx'
import { SecretDialog } from '../../ui/overlay/secret-dialog.tsx'

type Props = { codes: readonly string[]; onClose: () => void }

/** The recovery codes, shown once. */
export function RecoveryCodesDialog({ codes, onClose }: Props) {
  const t = useText('settings')
  const { user } = useSession()
  const download = () => save(`${t('codes_file', { email: user.email })}\n\n${codes.join('\n')}\n`)
  const leaving = {
    title: t('close_unsaved_title'),
    text: t('close_unsaved_text'),
    confirmLabel: t('close_unsaved_confirm'),
  }
  return (
    <SecretDialog
      title={t('codes_title')}
      warning={t('codes_text')}
      doneLabel={t('done')}
      leaving={leaving}
      onClose={onClose}
    >
      <ol
        aria-label={t('codes')}
        className="grid grid-cols-2 gap-x-6 gap-y-1.5 rounded-lg border border-line bg-sunken px-5 py-4 text-center font-mono text-sm"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ol>
      <div className="flex flex-wrap gap-2">
        <CopyButton autoFocus text={codes.join('\n')} label={t('copy_codes')} size="md" />
        <Button icon={<Download />} onClick={download}>
          {t('download_codes')}
        </Button>
      </div>
    </SecretDialog>
  )
}

/** Hands a text to the browser's downloads. */
function save(text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = 'kinora-recovery-codes.txt'
  link.click()
  URL.revokeObjectURL(url)
}
