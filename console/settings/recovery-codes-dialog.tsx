import { Download } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/code.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { Note } from '../ui/failure-note.tsx'

type Props = { codes: readonly string[]; onClose: () => void }

/** The codes for when the app is lost, shown this once. Who leaves without taking them is asked again. */
export function RecoveryCodesDialog({ codes, onClose }: Props) {
  const t = useText('settings')
  const { user } = useSession()
  const [taken, setTaken] = useState(false)
  const [asking, setAsking] = useState(false)
  const leave = () => (taken ? onClose() : setAsking(true))
  const take = () => setTaken(true)
  const download = () => {
    save(`${t('codes_file', { email: user.email })}\n\n${codes.join('\n')}\n`)
    take()
  }
  const done = (
    <Button variant="primary" onClick={leave}>
      {t('done')}
    </Button>
  )
  return (
    <>
      <Dialog open onOpenChange={(open) => !open && leave()} title={t('codes_title')} actions={done}>
        {/* Copying by hand counts as well. */}
        <div className="flex flex-col gap-4" onCopy={take}>
          <Note tone="warning">{t('codes_text')}</Note>
          <ol
            aria-label={t('codes')}
            className="grid grid-cols-2 gap-x-6 gap-y-1.5 rounded-lg border border-line bg-sunken px-5 py-4 text-center font-mono text-sm"
          >
            {codes.map((code) => (
              <li key={code}>{code}</li>
            ))}
          </ol>
          <div className="flex flex-wrap gap-2">
            <span onClickCapture={take}>
              <CopyButton text={codes.join('\n')} label={t('copy_codes')} size="md" />
            </span>
            <Button icon={<Download />} onClick={download}>
              {t('download_codes')}
            </Button>
          </div>
        </div>
      </Dialog>
      <ConfirmDialog
        open={asking}
        onOpenChange={setAsking}
        title={t('leave_codes_title')}
        confirmLabel={t('leave_codes_confirm')}
        onConfirm={async () => onClose()}
      >
        <p>{t('leave_codes_text')}</p>
      </ConfirmDialog>
    </>
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
