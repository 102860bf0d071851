import { type ReactNode, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Dialog } from '../../ui/overlay/dialog.tsx'
import type { Mistake } from '../request/check-json.ts'
import { JsonEditor } from './json-editor.tsx'
import { useMistakeText } from './setting-problem.ts'

type JsonDialogProps = {
  title: string
  description: string
  value: string
  /** Shown as a placeholder and inserted on request. */
  example: string
  mistakeOf: (text: string) => Mistake | null
  onSave: (text: string) => void
  onClose: () => void
  children?: ReactNode
}

/** Edits a JSON setting. A mistake is shown with its line and cannot be saved. */
export function JsonDialog(props: JsonDialogProps) {
  const { title, description, value, example, mistakeOf, onSave, onClose, children } = props
  const t = useText('chat')
  const mistakeText = useMistakeText()
  const [text, setText] = useState(value)
  const mistake = text.trim() === '' ? null : mistakeOf(text)
  const save = () => {
    if (mistake) return
    onSave(text)
    onClose()
  }
  const actions = (
    <>
      <Button className="me-auto" onClick={() => setText(example)} disabled={text.trim() !== ''}>
        {t('example')}
      </Button>
      <Button onClick={onClose}>{t('cancel')}</Button>
      <Button variant="primary" aria-disabled={mistake !== null || undefined} onClick={save}>
        {t('use')}
      </Button>
    </>
  )
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={title}
      description={description}
      actions={actions}
      size="lg"
    >
      <div className="flex flex-col gap-4">
        {children}
        <Field label={title} hideLabel error={mistake && mistakeText(mistake)}>
          <JsonEditor value={text} onChange={setText} wrong_line={mistake?.line ?? null} placeholder={example} />
        </Field>
      </div>
    </Dialog>
  )
}
