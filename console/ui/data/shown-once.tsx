import { type MouseEvent, type ReactNode, useState } from 'react'
import { Button } from '../button.tsx'
import { Note } from '../failure-note.tsx'
import { ConfirmDialog, Dialog } from '../overlay/dialog.tsx'

type Props = {
  title: string
  /** Why it has to be taken now. */
  warning: string
  doneLabel: string
  /** Asked of who leaves without taking it. */
  leaving: { title: string; text: string; confirmLabel: string }
  onClose: () => void
  /** Its buttons all take what is shown: they copy or download it. */
  children: ReactNode
}

/** What is never shown again. Who leaves without taking it is asked once more; copying by hand counts as taking. */
export function ShownOnce({ title, warning, doneLabel, leaving, onClose, children }: Props) {
  const [taken, setTaken] = useState(false)
  const [asking, setAsking] = useState(false)
  const leave = () => (taken ? onClose() : setAsking(true))
  const done = (
    <Button variant="primary" onClick={leave}>
      {doneLabel}
    </Button>
  )
  const noteButton = (event: MouseEvent) => {
    if ((event.target as Element).closest('button')) setTaken(true)
  }
  return (
    <>
      <Dialog open onOpenChange={(open) => !open && leave()} title={title} actions={done}>
        <div className="flex flex-col gap-4" onCopy={() => setTaken(true)} onClickCapture={noteButton}>
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
