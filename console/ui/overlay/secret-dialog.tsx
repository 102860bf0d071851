import { type MouseEvent, type ReactNode, useState } from 'react'
import { Button } from '../button.tsx'
import { Note } from '../failure-note.tsx'
import { ConfirmDialog, Dialog } from './dialog.tsx'

type Props = {
  title: string
  /** Why it must be saved now. */
  warning: string
  doneLabel: string
  /** Asked before closing without saving it. */
  leaving: { title: string; text: string; confirmLabel: string }
  onClose: () => void
  /** The secret, and buttons that copy or download it. */
  children: ReactNode
}

/** Shows a secret once. Closing before it was copied or downloaded asks for confirmation; copying by hand counts. */
export function SecretDialog({ title, warning, doneLabel, leaving, onClose, children }: Props) {
  const [saved, setSaved] = useState(false)
  const [asking, setAsking] = useState(false)
  const leave = () => (saved ? onClose() : setAsking(true))
  const done = (
    <Button variant="primary" onClick={leave}>
      {doneLabel}
    </Button>
  )
  const onButton = (event: MouseEvent) => {
    if ((event.target as Element).closest('button')) setSaved(true)
  }
  return (
    <>
      <Dialog open onOpenChange={(open) => !open && leave()} title={title} actions={done}>
        <div className="flex flex-col gap-4" onCopy={() => setSaved(true)} onClickCapture={onButton}>
          <Note tone="warning">{warning}</Note>
          {children}
        </div>
      </Dialog>
      <ConfirmDialog
        open={asking}
        onOpenChange={setAsking}
        title={leaving.title}
        confirmLabel={leaving.confirmLabel}
        onConfirm={async () => onClose()}
      >
        <p>{leaving.text}</p>
      </ConfirmDialog>
    </>
  )
}
